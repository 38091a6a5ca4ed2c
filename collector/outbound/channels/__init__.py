"""Channels: chat, mail and pagers that people are told of alerts through."""
