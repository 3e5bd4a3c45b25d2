"""A thread over the Model Context Protocol: `pip install 'dalsegno[mcp]'`, then `dalsegno mcp --thread ID`."""

from dalsegno.core.extras import require

require("mcp", "mcp")

from dalsegno.mcp.server import server_for  # noqa: E402 - after the check that the package is here
from dalsegno.mcp.stdio import serve  # noqa: E402 - as above

__all__ = ["serve", "server_for"]
