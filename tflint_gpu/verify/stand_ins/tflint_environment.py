"""Makes up what surrounds a piece of your code and is not here: its command line and environments.

`tflint-gpu verify` lays a copy next to a program that asks for such things, and puts the functions below around the
calls that do. What was made up is reported in the result.
"""

from __future__ import annotations

import os
import re
import sys
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy
import tensorflow as tf
import tflint_archives
import tflint_files
from tflint_files import existing, is_path, made, place_of, tell

_ATARI = (210, 160, 3)
# Those that gym registered of the Atari 2600 (gym/envs/__init__.py of 0.21).
_GAMES = frozenset(
    (
        "AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk Bowling Boxing "
        "Breakout Carnival Centipede ChopperCommand CrazyClimber Defender DemonAttack DoubleDunk Enduro FishingDerby "
        "Freeway Frostbite Gopher Gravitar Hero IceHockey Jamesbond Kangaroo Krull KungFuMaster MontezumaRevenge "
        "MsPacman NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye Qbert Riverraid RoadRunner Robotank Seaquest "
        "Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot Tutankham UpNDown Venture VideoPinball WizardOfWor"
    ).split()
)
ASKED: dict[str, Any] = {}
"""What the way to the flagged code asks of the command line."""

_EPISODE = 200
_AMOUNTS = 2
_draw = numpy.random.default_rng(1)


class _Space:
    """Of observations, or of actions that are numbers below `n`."""

    def __init__(self, shape: tuple[int, ...] = (), n: int = 0, dtype: str = "float32") -> None:
        self.shape, self.dtype = shape, numpy.dtype(dtype)
        if n:
            self.n = n
        self.low, self.high = numpy.zeros(shape, dtype), numpy.full(shape, 255 if dtype == "uint8" else 1, dtype)

    def sample(self) -> Any:
        if hasattr(self, "n"):
            return int(_draw.integers(0, self.n))
        return (_draw.random(self.shape) * self.high).astype(self.dtype)

    def seed(self, seed: Any = None) -> list[Any]:
        return [seed]


class Environment:
    """An environment that is not installed: random observations, a reward in every other step, equal episodes."""

    metadata: dict[str, Any] = {}
    reward_range = (0.0, 1.0)

    def __init__(self, name: str) -> None:
        is_atari = any(part in name for part in ("Deterministic", "NoFrameskip", "ALE/", "-v4"))
        is_atari = is_atari or name.partition("-")[0] in _GAMES
        shape = _ATARI if is_atari else tflint_files.INPUT or (4,)
        self.observation_space = _Space(shape, dtype="uint8" if is_atari else "float32")
        count = max(tflint_files.CLASSES, 2)
        self.action_space = _Space((_AMOUNTS,)) if tflint_files.HAS_AMOUNTS_AS_ACTIONS else _Space(n=count)
        self.unwrapped = self.env = self
        self.spec = SimpleNamespace(id=name, max_episode_steps=_EPISODE, reward_threshold=None)
        self.steps = 0
        tell(f"the environment {name}, with observations of {'x'.join(map(str, shape))}")

    def reset(self, **_: Any) -> Any:
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self.observation_space.sample(), float(self.steps % 2), self.steps >= _EPISODE, False, {"lives": 1}

    def render(self, *args: Any, **kwargs: Any) -> Any:
        return numpy.zeros(_ATARI, "uint8")

    def seed(self, seed: Any = None) -> list[Any]:
        return [seed]

    def close(self) -> None:
        """There is nothing to close."""

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE", *(f"ACTION {number}" for number in range(2, self.action_space.n))]


def environment(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `gym.make`: an environment that is not installed is made up."""

    def make(name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(name, *args, **kwargs)
        except Exception:  # no such name, or what it needs is not there: each version has its own error
            return _later(function, name, args, kwargs) or Environment(str(getattr(name, "id", name)))

    return make


def _later(function: Callable[..., Any], name: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The newest version of an environment whose older ones are gone; None where there is none that can be made."""
    package = sys.modules.get(str(getattr(function, "__module__", "")).partition(".")[0])
    known = getattr(getattr(package, "envs", None), "registry", {})
    kin, _, version = str(name).rpartition("-v")
    later = [each for each in known if each.rpartition("-v")[0] == kin and each.rpartition("-v")[2].isdigit()]
    for each in sorted(later if version.isdigit() else (), key=lambda each: -int(each.rpartition("-v")[2])):
        try:
            made = function(each, *args, **kwargs)
        except Exception:  # as above
            continue
        tell(f"the environment {each} in place of {name}")
        return made
    return None


def old_environment(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `gym.make`: an environment that resets and steps as gym did before 0.26."""

    def make(*args: Any, **kwargs: Any) -> Any:
        tell("the environment's old interface (gym before 0.26)")
        made = environment(function)(*args, **kwargs)
        inner = getattr(made, "unwrapped", made)
        if inner is not made:
            old = _Unwrapped(inner)
            made.__class__ = type(type(made).__name__, (type(made),), {"unwrapped": property(lambda _: old)})
        _make_old(made, made.reset, made.step)
        return made

    return make


class _Unwrapped:
    """An environment without what gym put around it, which still uses it as it is."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        _make_old(self, environment.reset, environment.step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.environment, name)


def _make_old(made: Any, reset: Callable[..., Any], step: Callable[..., Any]) -> None:
    def old_reset(*args: Any, **kwargs: Any) -> Any:
        result = reset(*args, **kwargs)
        return result[0] if isinstance(result, tuple) and len(result) == 2 else result

    def old_step(action: Any) -> Any:
        result = step(action)
        if len(result) == 4:
            return result
        state, reward, terminated, truncated, info = result
        return state, reward, terminated or truncated, info

    def seed(number: Any = None) -> list[Any]:
        reset(seed=number)
        return [number]

    made.reset, made.step = old_reset, old_step
    if not hasattr(made, "seed"):
        made.seed = seed


def unrecorded(environment: Any, *args: Any, **kwargs: Any) -> Any:
    """Stand for `gym.wrappers.Monitor` and its kin, which film an environment: it is not filmed."""
    return environment


def old_optimizer(function: Any) -> Any:
    """Stand for an optimizer that is given `lr` or `decay`: the one of Keras 2 that heeds them, where Keras is that."""
    old = getattr(getattr(tf.keras.optimizers, "legacy", None), getattr(function, "__name__", ""), None)
    return old if hasattr(old, "get_config") else function  # in Keras 3 it only tells that it is gone


def no_cluster(*args: Any, **kwargs: Any) -> Any:
    """Stand for what finds, connects and initializes a TPU, of which there is none."""
    return SimpleNamespace(master=lambda: "", cluster_spec=lambda: SimpleNamespace(as_dict=dict))


def default_strategy(*args: Any, **kwargs: Any) -> Any:
    """Stand for the strategy of a TPU: the one that a program has without any."""
    tell("the default strategy in place of the TPU strategy")
    return tf.distribute.get_strategy()


def camera(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `cv2.VideoCapture`: a film that is not here is made up, and what a camera would see."""

    def opened(source: Any = 0, *args: Any, **kwargs: Any) -> Any:
        place = existing(source) if is_path(source) else None
        return Film() if place is None else function(place, *args, **kwargs)

    return opened


class Film:
    """Pictures of noise, as many as are asked for."""

    def __init__(self) -> None:
        self.isOpened = lambda: True  # as OpenCV spells it
        self.image = _draw.integers(0, 256, tflint_files.IMAGE).astype("uint8")
        tell(f"a video of {'x'.join(map(str, tflint_files.IMAGE))}")

    def read(self, *_: Any) -> tuple[bool, Any]:
        return True, self.image.copy()

    def get(self, what: int) -> float:
        """The width, the height, frames in a second, and how many there are, by OpenCV's numbers."""
        height, width = map(float, tflint_files.IMAGE[:2])
        return {3: width, 4: height, 5: 30.0, 7: 300.0}.get(what, 0.0)

    def set(self, what: int, value: float) -> bool:
        return True

    def release(self) -> None:
        """There is nothing to release."""


def arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `parser.parse_args` and its kin: arguments that must be given get a value of their type."""

    def parse(*args: Any, **kwargs: Any) -> Any:
        parser = getattr(function, "__self__", None)
        given: list[str] = []
        for action in getattr(parser, "_actions", ()):
            is_positional = not action.option_strings and action.nargs not in ("?", "*")
            if is_positional or action.required:
                value = _argument(action)
                given += [*action.option_strings[:1], value]
                tell(f"the argument {(action.option_strings or [action.dest])[0]} as {value}")
        is_empty = not args or args[0] == []  # as `sys.argv[1:]` is here
        parsed = function(given) if given and is_empty else function(*args, **kwargs)
        return (_asked(parsed[0]), *parsed[1:]) if isinstance(parsed, tuple) else _asked(parsed)

    return parse


def _asked(parsed: Any) -> Any:
    """What was given on the command line, and what the way to the flagged code asks of it."""
    for name, value in ASKED.items():
        if hasattr(parsed, name) and _is_other(getattr(parsed, name), value):
            setattr(parsed, name, value)
            tell(f"the argument --{name}" + ("" if value is True else f" as {value}"))
    return parsed


def _is_other(given: Any, asked: Any) -> bool:
    """Whether what was given must be changed into what is asked."""
    if asked is True:
        return isinstance(given, int) and not given  # what is a path or a text cannot be turned on
    if isinstance(asked, int):
        return isinstance(given, (int, float)) and given > asked
    return bool(given != asked)


def _argument(action: Any) -> str:
    if action.choices:
        return str(next(iter(action.choices)))
    if action.type in (int, float):
        return "1"
    is_model = re.search("(?:model|weights?)_?(?:path|file)", action.dest)
    is_image = re.search("(?:image|img|picture|photo|heatmap|mask)(?:_(?:path|file|name))?$", action.dest)
    return f"made_up_{action.dest}" + (".h5" if is_model else ".png" if is_image else "")


_FOLDER_OF_RESULTS = re.compile(r"(?:root|base|model|out|output|log|work|train|save|summary|results?)_?(?:dir|folder)$")


def flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `absl.app.run`: flags get what is asked, or a value of their type where they must have one."""

    def run(main: Callable[..., Any], argv: Any = None, *args: Any, **kwargs: Any) -> Any:
        from absl import flags as known

        given = list(sys.argv if argv is None else argv)
        for name in known.FLAGS:
            flag = known.FLAGS[name]
            is_required = any("other than None" in validator.message for validator in flag.validators)
            is_table = name.endswith("_csv") and not flag.value
            if is_table or (flag.value is None and (is_required or _FOLDER_OF_RESULTS.match(name))):
                value = _of_flag(flag)
                given.append(f"--{name}={value}")
                tell(f"the flag --{name} as {value}")
        for name, asked in ASKED.items():
            if name in known.FLAGS and _is_other(known.FLAGS[name].value, asked):
                given.append(f"--{name}={1 if asked is True else asked}")
                tell(f"the flag --{name} as {asked}")
        return function(main, given, *args, **kwargs)

    return run


def _of_flag(flag: Any) -> str:
    choices = getattr(flag.parser, "enum_values", None)
    if choices:
        return str(choices[0])
    return {"int": "1", "float": "1", "bool": "true"}.get(flag.flag_type(), f"made_up_{flag.name}")


def fetched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `keras.utils.get_file`: nothing is fetched, the file is made up."""

    def get_file(fname: Any = None, origin: Any = None, *args: Any, **kwargs: Any) -> str:
        name = os.path.basename(str(fname or origin))
        path = os.path.join("datasets", name)
        return str(existing(path) or made(path) or place_of(path))

    return get_file


def retrieved(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `urllib.request.urlretrieve` and its kin."""

    def retrieve(url: Any, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        path = filename or kwargs.get("out") or os.path.basename(str(url))
        return existing(path) or made(path) or place_of(path), None

    return retrieve


def answered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `requests.get` and `urllib.request.urlopen`: nothing is asked, the answer is a made-up file."""

    def get(url: Any, *args: Any, **kwargs: Any) -> Any:
        path = urllib.parse.urlparse(str(getattr(url, "full_url", url))).path
        place = fetched(function)(os.path.basename(path) or "page.txt")
        if not os.path.isfile(place):
            raise FileNotFoundError(f"{url} is not requested, and the code does not show what it returns")
        return tflint_archives.Answer(place)

    return get
