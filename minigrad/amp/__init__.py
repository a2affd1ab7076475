"""Mixed precision under PyTorch's names: ops in bfloat16 or float16 where that is safe, and scaled losses."""

from minigrad.amp.autocast import autocast, custom_bwd, custom_fwd, is_autocast_available
from minigrad.amp.grad_scaler import GradScaler
from minigrad.declare.advice import present

NAMES = (GradScaler, autocast, custom_bwd, custom_fwd, is_autocast_available)
present(globals(), {each.__name__: each for each in NAMES})
