"""The energy that a GPU took while it was watched, and how much of it while it was idle."""

from __future__ import annotations

from tflint_gpu.gpu.watch import LOW, Sample
from tflint_gpu.lazy_dataclasses import dataclass

_JOULES_OF_A_KILOWATT_HOUR = 3.6e6


@dataclass(slots=True)
class Energy:
    """Adds up the samples of one watch: by the GPU's own counter of energy, else by its power."""

    _joules: float | None = None
    _idle_seconds: float = 0.0
    _low_joules: float = 0.0
    _low_seconds: float = 0.0
    _last: Sample | None = None

    def take(self, seen: Sample) -> None:
        """The next sample."""
        last, self._last = self._last, seen
        if last is None or (spent := _between(last, seen)) is None:
            return
        seconds = seen.seconds - last.seconds
        self._joules = (self._joules or 0.0) + spent
        if seen.utilisation is None:
            return
        self._idle_seconds += seconds * (1 - seen.utilisation / 100)
        if seen.utilisation < LOW:
            self._low_joules += spent
            self._low_seconds += seconds

    @property
    def spent(self) -> float | None:
        """Kilowatt-hours; None where the GPU tells neither energy nor power."""
        return None if self._joules is None else self._joules / _JOULES_OF_A_KILOWATT_HOUR

    @property
    def idle_watts(self) -> float | None:
        """The mean power of the time in which it was as good as idle; None where there was none."""
        return self._low_joules / self._low_seconds if self._low_seconds else None

    @property
    def idle(self) -> float | None:
        """Kilowatt-hours of the time in which it did nothing, at `idle_watts`."""
        if self.spent is None or self.idle_watts is None:
            return None
        return min(self.spent, self.idle_watts * self._idle_seconds / _JOULES_OF_A_KILOWATT_HOUR)


def _between(last: Sample, seen: Sample) -> float | None:
    if last.energy is not None and seen.energy is not None and seen.energy >= last.energy:
        return seen.energy - last.energy
    return None if seen.power is None else seen.power * (seen.seconds - last.seconds)
