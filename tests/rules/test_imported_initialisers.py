"""TFG402, TFG504, TFG508: what an imported module initialises the runtime with is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings

LATE = {
    "TFG402": "    for gpu in tf.config.list_physical_devices('GPU'):\n"
    "        tf.config.experimental.set_memory_growth(gpu, True)\n",
    "TFG504": "    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n",
    "TFG508": "    return tf.distribute.MultiWorkerMirroredStrategy()\n",
}


@pytest.mark.parametrize("code", LATE)
def test_the_line_of_the_imported_module_is_named(code: str, tmp_path: Path) -> None:
    """Protects the message: without the line nobody finds which of the module's statements it is."""
    (tmp_path / "grids.py").write_text("import tensorflow as tf\n\nSIDE = 7\nGRID = tf.range(SIDE)\n")
    program = f"import os\nimport tensorflow as tf\nfrom grids import GRID\ndef start():\n{LATE[code]}start()\n"
    [finding] = [finding for rule, finding in findings(program, tmp_path) if rule.code == code]
    assert "`tf.range` (line 4 of grids.py)" in finding.message
    assert [note.file.source.path.name for note in finding.notes][-1] == "grids.py"
