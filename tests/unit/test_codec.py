"""The codec keeps what it promises on values written out by hand."""

from __future__ import annotations

import pytest

from dalsegno.core import codec
from dalsegno.errors import NotSerializable


def test_a_refused_value_is_named_with_its_path() -> None:
    with pytest.raises(NotSerializable, match=r"^state\.people\[1\]\.lookup \(function\): code is not state"):
        codec.encode({"people": [1, {"lookup": test_a_refused_value_is_named_with_its_path}]})
