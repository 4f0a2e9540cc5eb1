from __future__ import annotations

import pytest

from agentfence.core import tasks
from agentfence.core.policy.model import Verdict
from agentfence.core.tasks import KnownTasks, Task, task_id_in

TASK = Task("call-1", "rule", Verdict.ALLOW)


@pytest.mark.parametrize(
    ("result", "task_id"),
    [
        ({"task": {"taskId": "t", "status": "working"}}, "t"),
        ({"resultType": "task", "taskId": "t", "ttlMs": 1}, "t"),
        ({"taskId": "t"}, None),
        ({"resultType": "complete", "taskId": "t"}, None),
        ({"task": {"taskId": 1}}, None),
        ({"task": "t"}, None),
        ({"content": []}, None),
        ([], None),
        (None, None),
    ],
)
def test_result_announces_a_task_in_two_ways(result: object, task_id: str | None) -> None:
    assert task_id_in(result) == task_id  # type: ignore[arg-type]


def test_task_is_known_on_its_server_alone() -> None:
    known = KnownTasks()
    known.learn("files", "t", TASK)

    assert known.find("files", "t") is TASK
    assert known.find("github", "t") is None
    assert known.find("", "t") is None
    assert known.find("files", "u") is None


def test_tasks_stay_known_under_another_name_of_their_server() -> None:
    known = KnownTasks()
    known.learn(None, "t", TASK)
    known.learn("github", "t", TASK)
    known.rename({None: "files"})

    assert [known.find(server, "t") for server in ("files", "github", None)] == [TASK, TASK, None]
    known.rename({"files": "github", "github": "files"})
    known.rename({"files": "disk"})
    assert [known.find(server, "t") for server in ("disk", "github", "files")] == [TASK, TASK, None]


def test_oldest_tasks_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_MAX_TASKS", 2)
    known = KnownTasks()
    for task_id in "abc":
        known.learn(None, task_id, TASK)

    assert [known.find(None, task_id) for task_id in "abc"] == [None, TASK, TASK]


def test_overlong_task_id_stays_unknown() -> None:
    known = KnownTasks()
    known.learn(None, "t" * 1_025, TASK)
    known.learn(None, "t" * 1_024, TASK)

    assert known.find(None, "t" * 1_025) is None
    assert known.find(None, "t" * 1_024) is TASK
