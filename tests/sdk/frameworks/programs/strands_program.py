"""Strands Agents: a manager whose tool runs a researcher."""

# set-up
from tracejury.sdk import set_up

set_up("my-agents")
# end

from almanac import look_up
from strands import Agent, tool
from strands.models.openai import OpenAIModel

model = OpenAIModel(model_id="scripted")


@tool
def search(query: str) -> str:
    """Search the almanac.

    Args:
        query: what to look for
    """
    return look_up(query)


@tool
def ask_researcher(task: str) -> str:
    """Looks things up.

    Args:
        task: what to find out
    """
    agent = Agent(
        model=model, tools=[search], system_prompt="You look things up.", name="researcher", callback_handler=None
    )
    return str(agent(task))


manager = Agent(
    model=model, tools=[ask_researcher], system_prompt="You answer questions.", name="manager", callback_handler=None
)
manager("How long is the Alder Bridge?")
