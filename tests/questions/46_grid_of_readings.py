# Asked: why does it take minutes to fill a grid of 20,000 cells on a GPU that is idle? Each cell is written by itself.
# expected: TFG212 | tf.tensor_scatter_nd_update(
import csv
import pathlib

import tensorflow as tf

CELLS = 20_000


def grid_of(path):
    grid = tf.fill([CELLS], -1.0)
    with path.open(newline="") as lines:
        for cell, reading in csv.reader(lines):
            value = tf.math.log1p(tf.strings.to_number(reading))
            grid = tf.tensor_scatter_nd_update(grid, [[int(cell)]], [value])
    return tf.reshape(grid, (100, 200))


pictures = tf.stack([grid_of(pathlib.Path(f"day_{day}.csv")) for day in range(30)])
print(tf.reduce_mean(pictures, axis=0))
