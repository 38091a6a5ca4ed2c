"""Pydantic AI: a manager whose tool runs a researcher."""

# set-up
from pydantic_ai import Agent

from tracejury.sdk import set_up

set_up("my-agents")
Agent.instrument_all()
# end

from almanac import look_up
from pydantic_ai.models.openai import OpenAIChatModel

model = OpenAIChatModel("scripted")
researcher = Agent(model, name="researcher", system_prompt="You look things up.")
manager = Agent(model, name="manager", system_prompt="You answer questions.")


@researcher.tool_plain
def search(query: str) -> str:
    """Search the almanac."""
    return look_up(query)


@manager.tool_plain
async def ask_researcher(task: str) -> str:
    """Looks things up."""
    return (await researcher.run(task)).output


manager.run_sync("How long is the Alder Bridge?")
