"""The MCP server: what coding agents may ask, over stdio and over HTTP. Its tools are questions to the API.

They run against a running collector's API over stdio, and within it over HTTP, so keys, projects, bounds and checks of
arguments are those of the API. Nothing here deletes.
"""
