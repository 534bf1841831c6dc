;; Constant bit rate: equal packets at even intervals with a random phase, each late by a random time.
(module
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (import "tailback" "below" (func $below (param i64) (result i64)))
  (memory (export "memory") 1)
  ;; Bytes 0 to 1023 are lent to the host.
  (data (i32.const 1024) "interval\00packet\00jitter\00")

  (global $interval (mut i64) (i64.const 0))
  (global $bytes (mut i64) (i64.const 0))
  ;; Upper bound of the lateness; 0: none.
  (global $jitter (mut i64) (i64.const 0))
  ;; Nominal time of the next packet.
  (global $next (mut i64) (i64.const 0))

  (func (export "tailback_space") (result i32) (i32.const 0))

  (func (export "tailback_Cbr_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))                             ;; abi
    (i32.store offset=4 (local.get $out) (i32.const 3))                    ;; role: source
    (i32.store offset=8 (local.get $out) (i32.const 3)))                   ;; events: start and next

  (func (export "tailback_Cbr_create") (param $host i32) (param $self i32) (result i32)
    (global.set $interval
      (i64.trunc_f64_u (call $parameter (i32.const 1024) (i32.const 1) (f64.const 1e9))))
    (global.set $bytes
      (i64.trunc_f64_u (call $parameter (i32.const 1033) (i32.const 3) (f64.const 1000))))
    (global.set $jitter
      (i64.trunc_f64_u
        (f64.mul
          (call $parameter (i32.const 1040) (i32.const 0) (f64.const 0))
          (f64.convert_i64_u (global.get $interval)))))
    (i32.const 0))

  (func (export "tailback_Cbr_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (if (i32.eqz (i32.load offset=16 (local.get $call)))
      (then
        (global.set $next (i64.add (i64.load (local.get $call)) (call $below (global.get $interval))))
        (return (i32.const 0))))
    (i64.store (local.get $answer) (global.get $next))
    (i64.store offset=8 (local.get $answer) (global.get $bytes))
    (if (i64.ne (global.get $jitter) (i64.const 0))
      (then
        (i64.store (local.get $answer)
          (i64.add (global.get $next) (call $below (i64.add (global.get $jitter) (i64.const 1)))))))
    (global.set $next (i64.add (global.get $next) (global.get $interval)))
    (i32.const 0)))
