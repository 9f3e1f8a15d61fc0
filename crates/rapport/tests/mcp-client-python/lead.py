"""Leads a worker with the Python client of the MCP project. Arguments: the protocol ("legacy" or a version), how the person is asked
("dialog": while the model waits, or "task": the worker is a task that this client follows), and the command of the server. Prints a line of
JSON for each thing that happens."""

import asyncio
import json
import os
import sys
from typing import Any, Literal

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import ConfigDict, TypeAdapter

MODE, STYLE, COMMAND, *ARGS = sys.argv[1:]
ANSWERS = {"Which colour?": "Blue", "Start the work with this plan?": "confirm"}


def say(event: str, data: Any) -> None:
    print(json.dumps({"event": event, "data": data}), flush=True)


def answer(message: str) -> str:
    return next(answer for question, answer in ANSWERS.items() if question in message)


async def dialog(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    say("dialog", {"message": params.message})
    return types.ElicitResult(action="accept", content={"answer": answer(params.message)})


class TaskResult(types.Result):
    """What a call comes to that began a task."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    result_type: Literal["task"] = "task"
    taskId: str


class TaskRequest(types.Request[dict[str, Any], str]):
    """A request about a task."""


async def follow(task: TaskResult, context: ClaimContext) -> types.CallToolResult:
    say("task", {"taskId": task.taskId})
    anything = TypeAdapter(dict[str, Any])
    while True:
        request = TaskRequest(method="tasks/get", params={"taskId": task.taskId})
        found = await context.session.send_request(request, anything)
        if found["status"] == "input_required":
            replies = {}
            for key, asked in found["inputRequests"].items():
                say("input", {"message": asked["params"]["message"]})
                content = {"answer": answer(asked["params"]["message"])}
                replies[key] = {"action": "accept", "content": content}
            params = {"taskId": task.taskId, "inputResponses": replies}
            await context.session.send_request(TaskRequest(method="tasks/update", params=params), anything)
        elif found["status"] == "completed":
            return types.CallToolResult.model_validate(found["result"])
        elif found["status"] != "working":
            raise RuntimeError(f"the task ended as {found}")
        await asyncio.sleep(0.1)


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskResult, resolve=follow)]


async def main() -> None:
    server = StdioServerParameters(command=COMMAND, args=ARGS, env=dict(os.environ), cwd=os.getcwd())
    client = Client(
        server,
        mode=MODE,
        client_info=types.Implementation(name="python-client", version="1"),
        elicitation_callback=dialog,
        extensions=[Tasks()] if STYLE == "task" else None,
        read_timeout_seconds=60,
    )
    async with client:
        say("connected", {"protocol": client.protocol_version})
        tools = await client.list_tools()
        say("tools", [tool.name for tool in tools.tools])

        async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            told = {**(result.structured_content or {}), "isError": result.is_error}
            say(name, told)
            return told

        told = await call("task_worker", {"task": "paint", "questions": "person"})
        if STYLE == "dialog":
            told = await call("wait", {"taskId": told["taskId"]})
        await call("review_changes", {"diffId": told["diffId"]})
        await call("apply_changes", {"diffId": told["diffId"]})
    say("closed", {})


asyncio.run(main())
