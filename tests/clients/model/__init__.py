"""A model endpoint on loopback that follows a script, and remembers what a client sent to it.

``ModelServer`` answers the four dialects that clients speak: Anthropic's messages, OpenAI's responses and
chat completions, Gemini's generateContent; streamed where the client asks for that. A script is a list of
:class:`Step`; which one is due is told by the tool calls that the request itself holds, so the server keeps
no state of a conversation. What arrived is in ``ModelServer.turns``.
"""

from __future__ import annotations

from tests.clients.model.server import ModelServer
from tests.clients.model.turn import Call, Result, Step, Tool, Turn

__all__ = ["Call", "ModelServer", "Result", "Step", "Tool", "Turn"]
