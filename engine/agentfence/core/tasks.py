"""Tasks: calls that go on in the background, and are asked about by an id.

A task follows the call that made it: whoever may make the call may ask for its state and its result,
and an id that no answer has named is refused, so that nobody reads the results of somebody else's call.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.policy.model import Verdict

_MAX_TASKS = 10_000
_LONGEST_ID = 1_024


@frozen
class Task:
    """What is known of a task: the call that made it."""

    call_id: str
    rule: str
    """The rule that decided the call."""
    verdict: Verdict
    """What became of the call: not always allow, as observing lifts verdicts."""
    source: str = ""
    """The tool that was called, else the method."""


class KnownTasks:
    """The tasks of one agent, by server and id; bounded, oldest out first."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: OrderedDict[tuple[str, str], Task] = OrderedDict()

    def learn(self, peer: str, task_id: str, task: Task) -> None:
        """Keep who made a task. An id that is longer than any server's stays unknown."""
        if len(task_id) > _LONGEST_ID:
            return
        self._tasks[peer, task_id] = task
        if len(self._tasks) > _MAX_TASKS:
            self._tasks.popitem(last=False)

    def rename(self, names: Mapping[str, str]) -> None:
        """Keep the tasks of servers under other names."""
        tasks = self._tasks.items()
        self._tasks = OrderedDict(((names.get(peer, peer), task_id), task) for (peer, task_id), task in tasks)

    def find(self, peer: str, task_id: str) -> Task | None:
        """Give the task; None when no answer has named it."""
        return self._tasks.get((peer, task_id))


def task_id_in(result: Json) -> str | None:
    """Give the id of the task that a result announces instead of what was asked for.

    MCP 2025-11-25, basic/utilities/tasks: `{"task": {"taskId": …}}`; SEP-2663 (the tasks extension of
    2026-07-28): `{"resultType": "task", "taskId": …}`.
    """
    if not isinstance(result, dict):
        return None
    task = result if result.get("resultType") == "task" else result.get("task")
    task_id = task.get("taskId") if isinstance(task, dict) else None
    return task_id if isinstance(task_id, str) else None
