//! Components in their roles: queue laws, schedulers, congestion controls and traffic sources.

use crate::Parameters;
use crate::abi::{Properties, Record};
use core::fmt::{self, Debug};
use std::sync::Arc;
use tailback_random::Rng;
use tailback_user::{
    CongestionAnswer, CongestionCall, CongestionLaw, QueueAnswer, QueueCall, QueueLaw, QueueState, Role,
    SchedulerAnswer, SchedulerCall, SchedulerLaw, SourceAnswer, SourceCall, SourceLaw,
};

/// An instance of a class: a record in, a record out.
pub trait Instance: Debug + Send + Sync {
    /// Notes the name of the component and its place, and the names of its calls by their numbers.
    fn placed(&mut self, _name: &str, _calls: &[&'static str]) {}

    /// Answers a call: `call` has the record of what has happened, `answer` that of the decision, with its present values.
    /// `number` is the number of the call, and `now_ps` its time.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn answer<C: Record + ?Sized, A: Record>(
        &mut self,
        number: u32,
        now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String>;

    /// Returns the value of a state variable by its number.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn probe(&self, number: u32) -> Result<f64, String>;
}

/// A class, which makes instances.
pub trait Make: Debug + Send + Sync + 'static {
    /// Type of the instances.
    type Instance: Instance;

    /// Returns the properties that the class states.
    fn properties(&self) -> &Arc<Properties>;

    /// Makes an instance.
    ///
    /// # Errors
    /// If the class refuses the parameters.
    fn instance(&self, parameters: Parameters) -> Result<Self::Instance, String>;
}

/// Makes a new instance with the parameters of the first one.
type Again<I> = Box<dyn Fn() -> Result<I, String> + Send + Sync>;

/// An instance in a role.
pub struct Component<I> {
    instance: I,
    properties: Arc<Properties>,
    /// `None`: the instance cannot be renewed.
    again: Option<Again<I>>,
    /// Name of the component and its place, and the names of its calls.
    place: (String, Vec<&'static str>),
    /// Record of a call with the states of queues behind it.
    record: Vec<u64>,
}

impl<I: Instance> Component<I> {
    /// Returns an instance whose class has these properties.
    pub fn new(instance: I, properties: Arc<Properties>) -> Component<I> {
        Component { instance, properties, again: None, place: Default::default(), record: Vec::new() }
    }

    /// Makes an instance of a class, which can be renewed.
    ///
    /// # Errors
    /// If the class refuses the parameters.
    pub fn of<C: Make<Instance = I>>(class: &Arc<C>, parameters: Parameters) -> Result<Component<I>, String> {
        let class = Arc::clone(class);
        let properties = Arc::clone(class.properties());
        let again: Again<I> = Box::new(move || class.instance(parameters.clone()));
        let instance = again()?;
        Ok(Component { again: Some(again), ..Component::new(instance, properties) })
    }

    /// Notes the name of the component and its place, and the names of its calls.
    fn place(&mut self, name: &str, calls: &[&'static str]) {
        self.instance.placed(name, calls);
        self.place = (name.to_owned(), calls.to_vec());
    }

    /// Exchanges the instance for a new one.
    fn exchange(&mut self) -> Result<(), String> {
        let again = self.again.as_ref().ok_or("the component cannot be made again")?;
        self.instance = again()?;
        let (name, calls) = &self.place;
        self.instance.placed(name, calls);
        Ok(())
    }

    /// Passes the state variables to `f`.
    fn variables(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        for (number, name) in (0..).zip(&self.properties.probes) {
            f(name, self.instance.probe(number)?);
        }
        Ok(())
    }
}

impl<I: Debug> Debug for Component<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl<I: Instance> QueueLaw for Component<I> {
    fn placed(&mut self, name: &str) {
        self.place(name, &Role::QueueLaw.events());
    }
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        let mut answer = QueueAnswer { wake_ps, verdict: 0, reserved: 0 };
        self.instance.answer(call.event, call.now_ps, call, &mut answer, rng)?;
        Ok(answer)
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.variables(f)
    }
    fn state_bytes(&self) -> usize {
        self.properties.state_bytes
    }
}

impl<I: Instance> SchedulerLaw for Component<I> {
    fn placed(&mut self, name: &str) {
        self.place(name, &Role::Scheduler.events());
    }
    fn answer(
        &mut self,
        call: &SchedulerCall,
        queues: &[QueueState],
        wake_ps: u64,
        rng: &mut Rng,
    ) -> Result<SchedulerAnswer, String> {
        let mut answer = SchedulerAnswer { wake_ps, queue: SchedulerAnswer::NONE, reserved: 0 };
        let before = size_of::<SchedulerCall>();
        self.record.resize((before + size_of_val(queues)) / size_of::<u64>(), 0);
        let bytes = self.record.as_mut_slice().bytes_mut();
        bytes[..before].copy_from_slice(call.bytes());
        for (place, queue) in bytes[before..].chunks_exact_mut(size_of::<QueueState>()).zip(queues) {
            place.copy_from_slice(queue.bytes());
        }
        self.instance.answer(call.event, call.now_ps, self.record.as_slice(), &mut answer, rng)?;
        Ok(answer)
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.variables(f)
    }
    fn state_bytes(&self) -> usize {
        self.properties.state_bytes
    }
}

impl<I: Instance> CongestionLaw for Component<I> {
    fn placed(&mut self, name: &str) {
        self.place(name, &Role::CongestionControl.events());
    }
    fn answer(
        &mut self,
        call: &CongestionCall,
        last: &CongestionAnswer,
        rng: &mut Rng,
    ) -> Result<CongestionAnswer, String> {
        let mut answer = *last;
        self.instance.answer(call.event, call.now_ps, call, &mut answer, rng)?;
        Ok(answer)
    }
    fn renew(&mut self) -> Result<(), String> {
        self.exchange()
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.variables(f)
    }
}

impl<I: Instance> SourceLaw for Component<I> {
    fn placed(&mut self, name: &str) {
        self.place(name, &Role::Source.events());
    }
    fn answer(&mut self, call: &SourceCall, rng: &mut Rng) -> Result<SourceAnswer, String> {
        let mut answer = SourceAnswer::NONE;
        // The engine calls every source for its start.
        if self.properties.events & 1 << call.event != 0 {
            self.instance.answer(call.event, call.now_ps, call, &mut answer, rng)?;
        }
        Ok(answer)
    }
    fn renew(&mut self) -> Result<(), String> {
        self.exchange()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instance that notes its calls, and has answered as many of them as its state variable says.
    #[derive(Debug, Default)]
    struct Noted {
        parameters: Parameters,
        place: String,
        call: Vec<u8>,
        answer: Vec<u8>,
        answered: u32,
    }

    impl Instance for Noted {
        fn placed(&mut self, name: &str, calls: &[&'static str]) {
            self.place = format!("{name}: {}", calls.join(" "));
        }
        fn answer<C: Record + ?Sized, A: Record>(
            &mut self,
            _number: u32,
            _now_ps: u64,
            call: &C,
            answer: &mut A,
            _rng: &mut Rng,
        ) -> Result<(), String> {
            (self.call, self.answer) = (call.bytes().to_vec(), answer.bytes().to_vec());
            // The last word is the time of the wake-up of a control, and the payload of a burst.
            let last = answer.bytes().len() - 8;
            answer.bytes_mut()[last..].copy_from_slice(&7u64.to_ne_bytes());
            self.answered += 1;
            Ok(())
        }
        fn probe(&self, number: u32) -> Result<f64, String> {
            Ok(f64::from(self.answered + 10 * number))
        }
    }

    #[derive(Debug)]
    struct Class(Arc<Properties>);

    impl Make for Class {
        type Instance = Noted;
        fn properties(&self) -> &Arc<Properties> {
            &self.0
        }
        fn instance(&self, mut parameters: Parameters) -> Result<Noted, String> {
            parameters.number("n", 0, 0.0)?;
            Ok(Noted { parameters, ..Noted::default() })
        }
    }

    /// Returns a component that is called for these events.
    fn component(events: u32) -> Component<Noted> {
        let properties = Properties { events, marks: false, options: 0, state_bytes: 34, probes: vec!["a", "b"] };
        let parameters = serde_json::json!({ "n": 5 });
        let parameters = Parameters::new(parameters.as_object().expect("it is a table"));
        Component::of(&Arc::new(Class(Arc::new(properties))), parameters).expect("the parameter is a number")
    }

    /// Returns the word of 64 bits with this number.
    fn word(record: &[u8], number: usize) -> u64 {
        u64::from_ne_bytes(record[8 * number..8 * number + 8].try_into().expect("8 bytes"))
    }

    fn rng() -> Rng {
        Rng::named(0, "")
    }

    #[test]
    fn the_states_of_the_queues_follow_the_call_of_a_scheduler() {
        let mut one = component(4);
        for count in [3u32, 1] {
            let queues: Vec<_> = (0..count)
                .map(|queue| QueueState { packets: 100 + u64::from(queue), bytes: 200, ready: 1, reserved: 0 })
                .collect();
            let call =
                SchedulerCall { now_ps: 9, rate_bps: 8, event: 2, queue: 0, size: 0, wire: 0, flow: 0, queues: count };
            let answer = SchedulerLaw::answer(&mut one, &call, &queues, 55, &mut rng()).expect("it answers");
            // Both halves of the last word: the queue and zero.
            assert_eq!((answer.wake_ps, u64::from(answer.queue) + u64::from(answer.reserved)), (55, 7));
            let record = &one.instance.call;
            assert_eq!(record.len(), 40 + 24 * count as usize);
            assert_eq!([word(record, 0), word(record, 1), word(record, 5), word(record, 6)], [9, 8, 100, 200]);
            assert_eq!(word(record, 3 * count as usize + 2), 99 + u64::from(count));
            assert_eq!([word(&one.instance.answer, 0), word(&one.instance.answer, 1)], [55, u32::MAX.into()]);
        }
        SchedulerLaw::placed(&mut one, "s->b");
        assert_eq!(one.instance.place, "s->b: start arrived select sent timer idle");
        assert_eq!(SchedulerLaw::state_bytes(&one), 34);
    }

    #[test]
    fn a_congestion_control_gets_the_window_the_rate_and_the_wake_up_before_the_call() {
        let mut one = component(0xff);
        CongestionLaw::placed(&mut one, "a->b");
        let call = CongestionCall {
            now_ps: 3,
            rtt_ps: u64::MAX,
            srtt_ps: 0,
            min_rtt_ps: 0,
            cwnd: 1.0,
            ssthresh: 2.0,
            delivery_rate: 0.0,
            event: 1,
            delivered: 0,
            advanced: 0,
            in_flight_before: 0,
            in_flight: 0,
            lost: 0,
            payload: 0,
            window_limited: 0,
            ece: 0,
            recovering: 0,
            round: 0,
            app_limited: 0,
            idle: 0,
            reserved: [0; 6],
        };
        let last = CongestionAnswer { cwnd: 1.5, ssthresh: 2.5, rate: 3.5, wake_ps: 9 };
        let answer = CongestionLaw::answer(&mut one, &call, &last, &mut rng()).expect("it answers");
        assert_eq!(answer, CongestionAnswer { wake_ps: 7, ..last });
        assert_eq!(one.instance.answer, last.bytes());
        let mut found = Vec::new();
        CongestionLaw::probe(&one, &mut |name, value| found.push((name, value))).expect("it answers");
        assert_eq!(found, [("a", 1.0), ("b", 11.0)]);
        CongestionLaw::renew(&mut one).expect("it is made again");
        let fresh = &one.instance;
        assert_eq!(
            (fresh.answered, fresh.place.as_str()),
            (0, "a->b: start acknowledged lost marked timeout sent timer spurious")
        );
        assert_eq!(fresh.parameters.clone().number("n", 0, 0.0), Ok(5.0));
    }

    #[test]
    fn a_source_is_called_for_its_start_only_if_it_wants_to_be() {
        for (events, calls) in [(2, 1), (3, 2)] {
            let mut one = component(events);
            let call = |event| SourceCall { now_ps: 3, bursts: 0, event, reserved: 0 };
            SourceLaw::answer(&mut one, &call(0), &mut rng()).expect("it answers");
            let answer = SourceLaw::answer(&mut one, &call(1), &mut rng());
            assert_eq!(answer, Ok(SourceAnswer { at_ps: u64::MAX, bytes: 7 }));
            assert_eq!(one.instance.answered, calls);
            assert_eq!(one.instance.answer, SourceAnswer::NONE.bytes());
            SourceLaw::renew(&mut one).expect("it is made again");
            assert_eq!(one.instance.answered, 0);
        }
    }
}
