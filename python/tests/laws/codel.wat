;; CoDel from the pseudo-code of RFC 8289, section 5.
(module
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (memory (export "memory") 1)
  ;; Bytes 0 to 1023 are lent to the host.
  (data (i32.const 1024) "target\00interval\00mtu\00dropping,count\00")

  (global $target (mut i64) (i64.const 0))
  (global $interval (mut i64) (i64.const 0))
  (global $mtu (mut i64) (i64.const 0))
  ;; 0: the delay is not above the target.
  (global $first_above (mut i64) (i64.const 0))
  (global $drop_next (mut i64) (i64.const 0))
  (global $count (mut i32) (i32.const 0))
  (global $lastcount (mut i32) (i32.const 0))
  (global $dropping (mut i32) (i32.const 0))
  ;; What the dequeue has done with the packet before: nothing (0), a first drop (1), a drop (2).
  (global $after (mut i32) (i32.const 0))

  (func (export "tailback_space") (result i32) (i32.const 0))

  (func (export "tailback_Codel_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))                             ;; abi
    (i32.store offset=8 (local.get $out) (i32.const 12))                   ;; events: depart and empty
    (i64.store offset=16 (local.get $out) (i64.const 34))                  ;; state_bytes
    (memory.copy (i32.add (local.get $out) (i32.const 24)) (i32.const 1044) (i32.const 15)))

  (func (export "tailback_Codel_create") (param $host i32) (param $self i32) (result i32)
    (global.set $target
      (i64.trunc_f64_u (call $parameter (i32.const 1024) (i32.const 1) (f64.const 5e9))))
    (global.set $interval
      (i64.trunc_f64_u (call $parameter (i32.const 1031) (i32.const 1) (f64.const 100e9))))
    (global.set $mtu
      (i64.trunc_f64_u (call $parameter (i32.const 1040) (i32.const 0) (f64.const 1514))))
    (i32.const 0))

  (func $control_law (param $t i64) (result i64)
    (i64.add
      (local.get $t)
      (i64.trunc_f64_u
        (f64.div
          (f64.convert_i64_u (global.get $interval))
          (f64.sqrt (f64.convert_i32_u (global.get $count)))))))

  (func $ok_to_drop (param $call i32) (result i32)
    (if (i32.or
          (i64.lt_u (i64.load offset=8 (local.get $call)) (global.get $target))
          (i64.le_u (i64.load offset=24 (local.get $call)) (global.get $mtu)))
      (then
        (global.set $first_above (i64.const 0))
        (return (i32.const 0))))
    (if (i64.eqz (global.get $first_above))
      (then
        (global.set $first_above (i64.add (i64.load (local.get $call)) (global.get $interval)))
        (return (i32.const 0))))
    (i64.gt_u (i64.load (local.get $call)) (global.get $first_above)))

  (func $begin (param $now i64)
    (local $delta i32)
    (local.set $delta (i32.sub (global.get $count) (global.get $lastcount)))
    (global.set $dropping (i32.const 1))
    (global.set $count
      (select
        (local.get $delta)
        (i32.const 1)
        (i32.and
          (i32.gt_s (local.get $delta) (i32.const 1))
          (i64.lt_u
            (local.get $now)
            (i64.add (global.get $drop_next) (i64.mul (i64.const 16) (global.get $interval)))))))
    (global.set $drop_next (call $control_law (local.get $now)))
    (global.set $lastcount (global.get $count)))

  ;; Returns the verdict: PASS (0) or DROP (2).
  (func $depart (param $call i32) (result i32)
    (local $ok i32)
    (local $after i32)
    (local.set $ok (call $ok_to_drop (local.get $call)))
    (local.set $after (global.get $after))
    (global.set $after (i32.const 0))
    (if (i32.eq (local.get $after) (i32.const 1))
      (then
        (call $begin (i64.load (local.get $call)))
        (return (i32.const 0))))
    (if (i32.eq (local.get $after) (i32.const 2))
      (then
        (if (local.get $ok)
          (then (global.set $drop_next (call $control_law (global.get $drop_next))))))
      (else
        (if (i32.eqz (global.get $dropping))
          (then
            (if (i32.eqz (local.get $ok)) (then (return (i32.const 0))))
            (global.set $after (i32.const 1))
            (return (i32.const 2))))))
    (global.set $dropping (i32.and (global.get $dropping) (local.get $ok)))
    (if (i32.and
          (global.get $dropping)
          (i64.ge_u (i64.load (local.get $call)) (global.get $drop_next)))
      (then
        (global.set $count (i32.add (global.get $count) (i32.const 1)))
        (global.set $after (i32.const 2))
        (return (i32.const 2))))
    (i32.const 0))

  (func $empty (param $now i64)
    (local $after i32)
    (local.set $after (global.get $after))
    (global.set $after (i32.const 0))
    (global.set $first_above (i64.const 0))
    (if (i32.eq (local.get $after) (i32.const 1))
      (then (call $begin (local.get $now)))
      (else (global.set $dropping (i32.const 0)))))

  (func (export "tailback_Codel_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (if (i32.eq (i32.load offset=56 (local.get $call)) (i32.const 2))
      (then (i32.store offset=8 (local.get $answer) (call $depart (local.get $call))))
      (else (call $empty (i64.load (local.get $call)))))
    (i32.const 0))

  (func (export "tailback_Codel_probe") (param $self i32) (param $number i32) (result f64)
    (select
      (f64.convert_i32_u (global.get $dropping))
      (f64.convert_i32_u (global.get $count))
      (i32.eqz (local.get $number)))))
