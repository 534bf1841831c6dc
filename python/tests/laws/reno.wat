;; Reno after RFC 5681, with byte counting of two segments (RFC 3465).
(module
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (memory (export "memory") 1)
  ;; Bytes 0 to 1023 are lent to the host.
  (data (i32.const 1024) "limit\00")

  ;; Segments by which an acknowledgement in slow start increases the window at most.
  (global $limit (mut i32) (i32.const 2))
  (global $after_timeout (mut i32) (i32.const 0))

  (func (export "tailback_space") (result i32) (i32.const 0))

  (func (export "tailback_Reno_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))                             ;; abi
    (i32.store offset=4 (local.get $out) (i32.const 2))                    ;; role: congestion control
    (i32.store offset=8 (local.get $out) (i32.const 30))                   ;; acknowledged, lost, marked, timeout
    (i64.store offset=16 (local.get $out) (i64.const 8)))                  ;; state_bytes

  (func (export "tailback_Reno_create") (param $host i32) (param $self i32) (result i32)
    (global.set $limit
      (i32.trunc_f64_u (call $parameter (i32.const 1024) (i32.const 0) (f64.const 2))))
    (i32.const 0))

  ;; RFC 5681, section 3.1; RFC 3465, sections 2.1 to 2.3.
  (func $acknowledged (param $call i32) (param $answer i32)
    (local $advanced i32)
    (local $limit i32)
    (local $cwnd f64)
    (local.set $advanced (i32.load offset=64 (local.get $call)))
    (local.set $cwnd (f64.load offset=32 (local.get $call)))
    ;; Neither the application nor the receiver limits the sender, and the acknowledgement advances.
    (if (i32.or (i32.eqz (i32.load8_u offset=84 (local.get $call))) (i32.eqz (local.get $advanced)))
      (then (return)))
    (if (f64.lt (local.get $cwnd) (f64.load offset=40 (local.get $call)))
      (then
        (local.set $limit (select (i32.const 1) (global.get $limit) (global.get $after_timeout)))
        (local.set $cwnd
          (f64.add
            (local.get $cwnd)
            (f64.convert_i32_u
              (select
                (local.get $advanced)
                (local.get $limit)
                (i32.lt_u (local.get $advanced) (local.get $limit))))))
        (if (f64.ge (local.get $cwnd) (f64.load offset=40 (local.get $call)))
          (then (global.set $after_timeout (i32.const 0)))))
      (else
        (local.set $cwnd
          (f64.add
            (local.get $cwnd)
            (f64.div
              (f64.convert_i32_u
                (select (i32.const 1) (local.get $advanced) (i32.eq (global.get $limit) (i32.const 1))))
              (local.get $cwnd))))))
    (f64.store (local.get $answer) (local.get $cwnd)))

  (func (export "tailback_Reno_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $event i32)
    (local $half f64)
    (local.set $event (i32.load offset=56 (local.get $call)))
    (if (i32.eq (local.get $event) (i32.const 1))
      (then
        (call $acknowledged (local.get $call) (local.get $answer))
        (return (i32.const 0))))
    (if (i32.eq (local.get $event) (i32.const 3))
      (then
        ;; RFC 3168, section 6.1.2.
        (local.set $half (f64.mul (f64.load offset=32 (local.get $call)) (f64.const 0.5)))
        (f64.store (local.get $answer) (f64.max (local.get $half) (f64.const 1)))
        (f64.store offset=8 (local.get $answer) (f64.max (local.get $half) (f64.const 2)))
        (return (i32.const 0))))
    ;; RFC 5681, equation 4; the sender sets the window.
    (if (i32.eq (local.get $event) (i32.const 4))
      (then (global.set $after_timeout (i32.const 1))))
    (f64.store offset=8 (local.get $answer)
      (f64.max
        (f64.mul (f64.convert_i32_u (i32.load offset=72 (local.get $call))) (f64.const 0.5))
        (f64.const 2)))
    (i32.const 0)))
