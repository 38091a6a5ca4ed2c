"""LangGraph: a manager whose tool is a researcher."""

# set-up
from openinference.instrumentation.langchain import LangChainInstrumentor

from tracejury.sdk import set_up

set_up("my-agents")
LangChainInstrumentor().instrument()
# end

from almanac import look_up
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def search(query: str) -> str:
    """Search the almanac."""
    return look_up(query)


model = ChatOpenAI(model="scripted")
researcher = create_agent(model, [search], system_prompt="You look things up.", name="researcher")


def ask_researcher(task: str) -> str:
    """Looks things up."""
    answer = researcher.invoke({"messages": [("user", task)]})
    return str(answer["messages"][-1].content)


manager = create_agent(model, [ask_researcher], system_prompt="You answer questions.", name="manager")
manager.invoke({"messages": [("user", "How long is the Alder Bridge?")]})
