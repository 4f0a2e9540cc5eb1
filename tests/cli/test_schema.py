"""`agentfence schema`: the schema that editors use."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from cli.commanding import run


def test_schema_takes_the_starter_and_refuses_what_is_misspelt():
    ended = run("schema")
    validator = jsonschema.Draft202012Validator(json.loads(ended.out))
    starter = yaml.safe_load(run("init", "-").out)

    assert ended.status == 0
    validator.validate(starter)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**starter, "tool": {}})
