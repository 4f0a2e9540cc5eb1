"""The launcher of `agentfence proxy-http` without the fence: `bare_launcher.py UPSTREAM PORT`."""

from __future__ import annotations

import asyncio
import logging
import sys

from mitmproxy import options

from agentfence.mitm.launcher import SmallMaster


async def _main(upstream: str, port: int) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    master = SmallMaster(options.Options(), with_termlog=False)
    master.options.update(mode=[f"reverse:{upstream}"], listen_host="127.0.0.1", listen_port=port)
    await master.run()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
