"""Stored traces as OTLP requests, whatever form they are kept in."""

from .files import MAX_FILE_BYTES, BrokenFileError, FileRequest, TraceFile, find, read, read_file, read_json

__all__ = ["MAX_FILE_BYTES", "BrokenFileError", "FileRequest", "TraceFile", "find", "read", "read_file", "read_json"]
