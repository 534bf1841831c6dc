;; Strict priority: the first queue that is ready sends.
(module
  ;; Bytes 0 to 8191 are lent to the host.
  (memory (export "memory") 1)

  (func (export "tailback_space") (result i32) (i32.const 0))

  (func (export "tailback_Priority_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))                             ;; abi
    (i32.store offset=4 (local.get $out) (i32.const 1))                    ;; role: scheduler
    (i32.store offset=8 (local.get $out) (i32.const 4)))                   ;; events: select

  (func (export "tailback_Priority_create") (param $host i32) (param $self i32) (result i32) (i32.const 0))

  (func (export "tailback_Priority_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (local $queue i32)
    (block $none
      (loop $next
        (br_if $none (i32.ge_u (local.get $queue) (i32.load offset=36 (local.get $call))))
        ;; The states of the queues, 24 bytes each, follow the call, which has 40 bytes; `ready` is at 16.
        (if (i32.load offset=56 (i32.add (local.get $call) (i32.mul (local.get $queue) (i32.const 24))))
          (then
            (i32.store offset=8 (local.get $answer) (local.get $queue))
            (return (i32.const 0))))
        (local.set $queue (i32.add (local.get $queue) (i32.const 1)))
        (br $next)))
    (i32.const 0)))
