# Asked: my agent learns slower on the GPU than on the processor; is the network too small?
# expected: TFG206 | player.predict(
import random
from collections import deque

import numpy as np
from tensorflow import keras

player = keras.Sequential([keras.Input((9,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(9)])
player.compile(loss="mse", optimizer="adam")
moves = deque(maxlen=5000)


def learn(count=48):
    boards, values = [], []
    for board, move, won, after in random.sample(moves, count):
        value = player.predict(board[np.newaxis], verbose=0)[0]
        value[move] = won + 0.9 * player.predict(after[np.newaxis], verbose=0).max()
        boards.append(board)
        values.append(value)
    player.fit(np.array(boards), np.array(values), verbose=0)


for _ in range(3000):
    board = np.zeros(9, "float32")
    for turn in range(5):
        move = random.randrange(9)
        after = board.copy()
        after[move] = 1.0
        moves.append((board, move, float(turn == 4), after))
        board = after
    if len(moves) > 500:
        learn()
