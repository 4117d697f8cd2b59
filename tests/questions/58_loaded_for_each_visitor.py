# Asked: the site takes three seconds for an answer, and predict took 40 ms in the notebook. Is it the missing GPU?
# expected: TFG224 | load_model("mushrooms.keras"
import io

import numpy as np
import tensorflow as tf
from fastapi import FastAPI, UploadFile
from PIL import Image

service = FastAPI()
KINDS = ("chanterelle", "fly agaric", "penny bun")


def most_likely(picture):
    judge = tf.keras.models.load_model("mushrooms.keras", compile=False)
    chances = judge.predict(picture[np.newaxis] / 127.5 - 1, verbose=0)[0]
    return KINDS[int(chances.argmax())], float(chances.max())


@service.post("/mushroom")
async def name_mushroom(upload: UploadFile):
    photo = Image.open(io.BytesIO(await upload.read())).convert("RGB").resize((224, 224))
    kind, chance = most_likely(np.asarray(photo, "float32"))
    return {"kind": kind, "chance": chance}
