;; Components of each role that decide like a simple one, and fail at the first call after 1 s in the way that the parameter
;; `fault` states: 1 a trap, 2 an endless loop, 3 a recursion without an end, 4 a time before now, 5 a value that is not
;; permitted, 6 another one.
(module
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (memory (export "memory") 1)
  ;; Bytes 0 to 8191 are lent to the host.
  (data (i32.const 8192) "fault\00")
  (global $fault (mut i32) (i32.const 0))

  (func (export "tailback_space") (result i32) (i32.const 0))

  (func $describe (param $out i32) (param $role i32) (param $events i32)
    (i32.store (local.get $out) (i32.const 1))
    (i32.store offset=4 (local.get $out) (local.get $role))
    (i32.store offset=8 (local.get $out) (local.get $events)))
  (func (export "tailback_Queue_describe") (param $out i32)
    (call $describe (local.get $out) (i32.const 0) (i32.const 2)))         ;; arrive
  (func (export "tailback_Scheduler_describe") (param $out i32)
    (call $describe (local.get $out) (i32.const 1) (i32.const 4)))         ;; select
  (func (export "tailback_Control_describe") (param $out i32)
    (call $describe (local.get $out) (i32.const 2) (i32.const 2)))         ;; acknowledged
  (func (export "tailback_Source_describe") (param $out i32)
    (call $describe (local.get $out) (i32.const 3) (i32.const 2)))         ;; next

  (func $create (export "tailback_Queue_create") (param $host i32) (param $self i32) (result i32)
    (global.set $fault (i32.trunc_f64_s (call $parameter (i32.const 8192) (i32.const 0) (f64.const 0))))
    (i32.const 0))
  (export "tailback_Scheduler_create" (func $create))
  (export "tailback_Control_create" (func $create))
  (export "tailback_Source_create" (func $create))

  (func $deep (param i64) (result i64) (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))

  ;; Returns the number of the fault from 1 s on, else 0. The first three happen here.
  (func $due (param $call i32) (result i32)
    (if (i64.lt_u (i64.load (local.get $call)) (i64.const 1000000000000)) (then (return (i32.const 0))))
    (if (i32.eq (global.get $fault) (i32.const 1)) (then unreachable))
    (if (i32.eq (global.get $fault) (i32.const 2)) (then (loop $again (br $again))))
    (if (i32.eq (global.get $fault) (i32.const 3)) (then (drop (call $deep (i64.const 0)))))
    (global.get $fault))

  (func (export "tailback_Queue_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $due i32)
    (local.set $due (call $due (local.get $call)))
    (if (i32.eq (local.get $due) (i32.const 4)) (then (i64.store (local.get $answer) (i64.const 1))))
    (if (i32.eq (local.get $due) (i32.const 5)) (then (i32.store offset=8 (local.get $answer) (i32.const 7))))
    (i32.const 0))

  ;; The first of the three queues that is ready; the states, 24 bytes each, follow the call of 40 bytes, with `ready` at 16.
  (func (export "tailback_Scheduler_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $due i32)
    (i32.store offset=8 (local.get $answer)
      (select (i32.const 0)
        (select (i32.const 1) (i32.const 2) (i32.load offset=80 (local.get $call)))
        (i32.load offset=56 (local.get $call))))
    (local.set $due (call $due (local.get $call)))
    (if (i32.eq (local.get $due) (i32.const 4)) (then (i64.store (local.get $answer) (i64.const 1))))
    (if (i32.eq (local.get $due) (i32.const 5)) (then (i32.store offset=8 (local.get $answer) (i32.const 7))))
    (i32.const 0))

  (func (export "tailback_Control_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $due i32)
    (f64.store offset=8 (local.get $answer) (f64.const 10))                ;; the threshold, which a loss needs
    (local.set $due (call $due (local.get $call)))
    (if (i32.eq (local.get $due) (i32.const 4)) (then (i64.store offset=24 (local.get $answer) (i64.const 1))))
    (if (i32.eq (local.get $due) (i32.const 5)) (then (f64.store (local.get $answer) (f64.const nan))))
    (if (i32.eq (local.get $due) (i32.const 6)) (then (f64.store (local.get $answer) (f64.const -3))))
    (i32.const 0))

  ;; 100 bytes each 10 ms.
  (func (export "tailback_Source_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $due i32)
    (i64.store (local.get $answer) (i64.add (i64.load (local.get $call)) (i64.const 10000000000)))
    (i64.store offset=8 (local.get $answer) (i64.const 100))
    (local.set $due (call $due (local.get $call)))
    (if (i32.eq (local.get $due) (i32.const 4)) (then (i64.store (local.get $answer) (i64.const 1))))
    (if (i32.eq (local.get $due) (i32.const 5)) (then (i64.store offset=8 (local.get $answer) (i64.const 0))))
    (i32.const 0)))
