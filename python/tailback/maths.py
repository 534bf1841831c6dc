"""Mathematical functions whose results are the same bits on every platform, for user-defined laws.

The functions of `math` differ between platforms and versions in the last bit, which changes a run. `math.sqrt`, sums,
products and quotients are exact on every platform.
"""

from __future__ import annotations

from tailback import _native

__all__ = ["cos", "exp", "exp_m1", "ln", "ln_1p", "ln_gamma", "log2", "power", "sin"]

cos = _native.maths.cos
exp = _native.maths.exp
exp_m1 = _native.maths.exp_m1
ln = _native.maths.ln
ln_1p = _native.maths.ln_1p
ln_gamma = _native.maths.ln_gamma
log2 = _native.maths.log2
power = _native.maths.pow
sin = _native.maths.sin
