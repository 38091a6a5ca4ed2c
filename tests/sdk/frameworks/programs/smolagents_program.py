"""smolagents: a manager with a managed researcher."""

import os

# set-up
from openinference.instrumentation.smolagents import SmolagentsInstrumentor

from tracejury.sdk import set_up

set_up("my-agents")
SmolagentsInstrumentor().instrument()
# end

from almanac import look_up
from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def search(query: str) -> str:
    """Search the almanac.

    Args:
        query: what to look for
    """
    return look_up(query)


model = OpenAIModel("scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none")
researcher = ToolCallingAgent([search], model, name="researcher", description="Looks things up.", verbosity_level=0)
manager = ToolCallingAgent([], model, name="manager", managed_agents=[researcher], verbosity_level=0)
manager.run("How long is the Alder Bridge?")
