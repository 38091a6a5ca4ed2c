"""OpenAI Agents SDK: a manager that uses a researcher as a tool."""

# set-up
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from tracejury.sdk import set_up

set_up("my-agents")
OpenAIAgentsInstrumentor().instrument()
# end

from almanac import look_up
from agents import Agent, Runner, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")  # the test's server speaks this one


@function_tool
def search(query: str) -> str:
    """Search the almanac."""
    return look_up(query)


researcher = Agent("researcher", instructions="You look things up.", tools=[search], model="scripted")
manager = Agent(
    "manager",
    instructions="You answer questions.",
    tools=[researcher.as_tool("ask_researcher", "Looks things up.")],
    model="scripted",
)
Runner.run_sync(manager, "How long is the Alder Bridge?")
