"""The plugin by which opencode hands long output to ``mcp-offload hook``."""

from __future__ import annotations

from typing import Final

PLUGIN: Final = """\
// Written by `mcp-offload install opencode --hooks`; `mcp-offload uninstall opencode` removes it.
// Long output of builds and tests is stored, and the model sees its digest and handle (mcp_offload).
import { spawn } from "node:child_process"

const after = $LINE after;
const compacted = $LINE compacted;

// Resolves to the answer, or to null where there is none or anything is wrong.
function ask(line, event, cwd) {
  return new Promise((resolve) => {
    const hook = spawn(line[0], line.slice(1), { cwd, stdio: ["pipe", "pipe", "ignore"] })
    let answer = ""
    hook.on("error", () => resolve(null))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (data) => (answer += data))
    hook.on("close", () => {
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve(null)
      }
    })
    hook.stdin.end(JSON.stringify(event))
  })
}

export const Offload = async ({ directory }) => ({
  "tool.execute.after": async (input, output) => {
    if (input.tool !== "bash" || !output.output || output.output.length < 2000) return
    const about = output.metadata ?? {}
    if (about.truncated && !about.outputPath) return // the whole is not to be had
    const told = await ask(
      after,
      {
        command: input.args?.command ?? "",
        output: output.output,
        file: about.outputPath ?? "",
        exit: about.exit ?? null,
        cwd: directory,
      },
      directory,
    )
    if (told?.output) output.output = told.output
  },
  event: async ({ event }) => {
    if (event.type === "session.compacted") await ask(compacted, event, directory)
  },
})
"""
"""``$LINE EVENT;`` is filled in as a list of words."""
