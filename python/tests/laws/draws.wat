;; Drops arriving packets at random, with each draw and each function of the host.
(module
  (import "tailback" "fail" (func $fail (param i32)))
  (import "tailback" "random" (func $random (result f64)))
  (import "tailback" "below" (func $below (param i64) (result i64)))
  (import "tailback" "exponential" (func $exponential (param f64) (result f64)))
  (import "tailback" "normal" (func $normal (result f64)))
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (import "tailback" "text" (func $text (param i32 i32 i32) (result i32)))
  (import "tailback" "ln" (func $ln (param f64) (result f64)))
  (import "tailback" "ln_1p" (func $ln_1p (param f64) (result f64)))
  (import "tailback" "log2" (func $log2 (param f64) (result f64)))
  (import "tailback" "exp" (func $exp (param f64) (result f64)))
  (import "tailback" "exp_m1" (func $exp_m1 (param f64) (result f64)))
  (import "tailback" "sin" (func $sin (param f64) (result f64)))
  (import "tailback" "cos" (func $cos (param f64) (result f64)))
  (import "tailback" "ln_gamma" (func $ln_gamma (param f64) (result f64)))
  (import "tailback" "pow" (func $pow (param f64 f64) (result f64)))
  (memory (export "memory") 1)
  ;; Bytes 0 to 1023 are lent to the host.
  (data (i32.const 1024) "rate\00mode\00sum,timers\00the mode is refused\00the sum is too large\00")
  (global $share (mut f64) (f64.const 0))
  (global $sum (mut f64) (f64.const 0))
  (global $timers (mut f64) (f64.const 0))

  (func (export "tailback_space") (result i32) (i32.const 0))
  (func (export "tailback_Draws_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))
    (i32.store offset=8 (local.get $out) (i32.const 19))                   ;; events: start, arrive and timer
    (i64.store offset=16 (local.get $out) (i64.const 24))
    (memory.copy (i32.add (local.get $out) (i32.const 24)) (i32.const 1034) (i32.const 11)))

  ;; Reads a share of at most 1, and refuses the mode "no".
  (func (export "tailback_Draws_create") (param $host i32) (param $self i32) (result i32)
    (global.set $share (f64.div (call $parameter (i32.const 1024) (i32.const 2) (f64.const 1e6)) (f64.const 1e7)))
    (if (i32.and
          (i32.eq (call $text (i32.const 1029) (i32.const 2048) (i32.const 8)) (i32.const 2))
          (i32.eq (i32.load16_u (i32.const 2048)) (i32.const 0x6f6e)))
      (then
        (call $fail (i32.const 1045))
        (return (i32.const 1))))
    (i32.const 0))

  (func (export "tailback_Draws_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $x f64)
    ;; The first timer expires at 1 ms, the others 1 ms after each other.
    (if (i32.ne (i32.load offset=56 (local.get $call)) (i32.const 1))
      (then
        (global.set $timers (f64.add (global.get $timers) (f64.const 1)))
        (i64.store (local.get $answer) (i64.add (i64.load (local.get $call)) (i64.const 1000000000)))
        (return (i32.const 0))))
    (local.set $x (f64.add (call $random) (f64.convert_i64_u (call $below (i64.const 3)))))
    (local.set $x (f64.add (local.get $x) (call $exponential (f64.const 0.5))))
    (local.set $x (f64.add (local.get $x) (call $cos (call $normal))))
    (local.set $x (f64.add (local.get $x) (call $sin (call $ln_1p (f64.abs (local.get $x))))))
    (local.set $x (f64.add (local.get $x) (call $pow (f64.const 1.1) (call $ln (f64.add (local.get $x) (f64.const 3))))))
    (local.set $x (f64.add (local.get $x) (call $log2 (call $exp (f64.neg (f64.abs (local.get $x)))))))
    (local.set $x (f64.add (local.get $x) (call $exp_m1 (f64.neg (f64.abs (local.get $x))))))
    (local.set $x (f64.add (local.get $x) (call $ln_gamma (f64.add (f64.abs (local.get $x)) (f64.const 1)))))
    (global.set $sum (f64.add (global.get $sum) (local.get $x)))
    (if (f64.gt (global.get $share) (f64.const 1))
      (then
        (call $fail (i32.const 1065))
        unreachable))
    (if (f64.lt (f64.sub (local.get $x) (f64.floor (local.get $x))) (global.get $share))
      (then (i32.store offset=8 (local.get $answer) (i32.const 2))))
    (i32.const 0))

  (func (export "tailback_Draws_probe") (param $self i32) (param $number i32) (result f64)
    (if (result f64) (local.get $number) (then (global.get $timers)) (else (global.get $sum)))))
