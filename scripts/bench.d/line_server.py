"""The servers that benchmarks of the relay talk to: each line is answered by a line of the same id.

As a script it is the Python server: `line_server.py SIZE` answers with results of SIZE bytes. It reads no
JSON beyond the id, so that it takes no part in what is measured.
"""

from __future__ import annotations

import sys

NODE = """
const text = 'x'.repeat(Number(process.argv[1]))
let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (piece) => {
  const lines = (rest + piece).split('\\n')
  rest = lines.pop()
  const result = { content: [{ type: 'text', text }] }
  const answers = lines.map((line) => JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result }))
  process.stdout.write(answers.join('\\n') + '\\n')
})
"""
"""The same for Node, which reads and writes JSON."""


def serve(size: int) -> None:
    """Answer until the end of stdin."""
    tail = b',"result":{"content":[{"type":"text","text":"' + b"x" * size + b'"}]}}\n'
    read, write = sys.stdin.buffer, sys.stdout.buffer
    for line in read:
        start = line.index(b'"id":') + 5
        write.write(b'{"jsonrpc":"2.0","id":' + line[start : line.index(b",", start)] + tail)
        write.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
