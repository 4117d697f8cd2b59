"""Which card is watched while a program runs."""

from __future__ import annotations

import pytest
from fake_nvml import FakeNvml

from tflint_gpu.run.recording import Recording


@pytest.mark.parametrize(
    ("visible", "order", "index", "note"),
    [
        (None, None, 0, "the idle time is that of the first one"),
        ("1", "PCI_BUS_ID", 1, ""),
        ("", None, None, "CUDA_VISIBLE_DEVICES hides"),
        ("1", None, None, "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
    ],
)
def test_the_card_that_tensorflow_takes(
    visible: str | None, order: str | None, index: int | None, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the program's run from an error about cards of several kinds, and the report from another one's card."""
    for name, value in (("CUDA_VISIBLE_DEVICES", visible), ("CUDA_DEVICE_ORDER", order)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    choice = Recording.begin(FakeNvml(free=(5, 9))).choice
    assert (choice.gpu and choice.gpu.index) == index
    assert note in choice.note
