//! Whatever the numbers, a run comes to a result or to an error that names what is wrong; it never panics.

mod common;

use common::networks::{link, packet_format, topology};
use common::traffic::{fitting, traffic};
use common::{build, cases};
use proptest::prelude::*;
use proptest::sample::Index;
use trncomm_core::collective::{Collective, Goal};
use trncomm_core::engine::{Control, Model, Options, Outcome, Untracked, simulate};
use trncomm_core::error::{ScheduleError, SimulationError};
use trncomm_core::proof::verify;
use trncomm_core::result::SimulationResult;
use trncomm_core::schedule::{Buffer, Chunks, Expr, Instruction, Move, Op, Place, Program, Schedule, Shape};
use trncomm_core::topology::{Endpoint, LinkInput, Topology};
use trncomm_core::units::{Bandwidth, Bytes, Time};

fn run(
    topology: &Topology,
    schedule: &Schedule,
    size: u64,
    model: Model,
) -> Result<Outcome<Untracked>, SimulationError> {
    simulate(topology, schedule, Bytes::new(size), 1, model, &mut |_| {
        Control::Continue
    })
}

/// A schedule of two ranks, or of one, that promises nothing.
fn custom(ranks: usize, program: Program) -> Result<Schedule, ScheduleError> {
    let goal = Goal::in_place(Collective::Custom);
    Schedule::uniform("test", goal, Shape::new(&[ranks])?, 4, 4, program)
}

fn output(index: impl Into<Expr>) -> Chunks {
    Chunks::one(Buffer::Output, index)
}

fn next() -> Place {
    Place::shift(0, 1)
}

fn previous() -> Place {
    Place::shift(0, -1)
}

fn pair(rate: u64, latency: u64) -> Topology {
    Topology::ring(2, link(rate, latency)).expect("a ring")
}

/// Sizes, rates, latencies and payloads at and around the limits of numbers.
const EXTREMES: [u64; 10] = [
    0,
    1,
    2,
    4096,
    u32::MAX as u64,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![3 => any::<Index>().prop_map(|choice| *choice.get(&EXTREMES)), 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_numbers_come_to_a_result_or_an_error(
        (topology, traffic) in topology().prop_flat_map(|topology| {
            let ranks = topology.ranks();
            (Just(topology), traffic(ranks))
        }),
        choice in any::<Option<Index>>(),
        (rate, latency) in (extreme(), extreme()),
        (size, pieces, header) in (extreme(), 1..64_u64, extreme()),
        (launch, completion, reduction, copy) in (extreme(), extreme(), extreme(), extreme()),
        keep in [any::<bool>(), any::<bool>()],
    ) {
        // The same graph, with links that are extreme.
        let links: Vec<LinkInput> = topology.sources().iter().zip(topology.destinations()).enumerate()
            .map(|(index, (source, destination))| LinkInput {
                source: source.get().into(),
                destination: destination.get().into(),
                bandwidth: if keep[0] && index % 2 == 0 { 1_000_000_000 } else { rate.max(1) },
                latency: if keep[0] { 1000 } else { latency },
                tier: "link".to_owned(),
            })
            .collect();
        let switches = topology.nodes() - topology.ranks();
        let topology = Topology::from_links(topology.ranks(), switches, &links).expect("the same graph");
        // Few packets, so that a run is short.
        let payload = (size / pieces).max(1);
        let format = packet_format(payload, header.min(u64::MAX - payload));
        let bandwidth = |rate| Bandwidth::new(rate).unwrap_or(Bandwidth::new(1).expect("above zero"));
        let mut endpoint = Endpoint::free();
        if !keep[1] {
            endpoint = endpoint
                .with_launch(Time::from_picoseconds(launch))
                .with_completion(Time::from_picoseconds(completion))
                .with_reduction(bandwidth(reduction))
                .with_copy(bandwidth(copy));
        }
        let topology = topology.with_packet_format(format).with_endpoint(endpoint);
        let schedule = match choice {
            None => traffic.schedule(),
            Some(choice) => {
                let names: Vec<&str> = fitting(Collective::AllReduce).collect();
                build(&topology, Collective::AllReduce, names[choice.index(names.len())], 0)
            }
        };
        for model in Model::ALL {
            let result = SimulationResult::of(&topology, &schedule, Bytes::new(size), 1, model, &mut |_| Control::Continue);
            match result {
                Ok(result) => prop_assert!(result.time() < Time::from_picoseconds(1 << 63)),
                Err(error) => prop_assert!(
                    matches!(error, SimulationError::TooLong { .. } | SimulationError::Unit(_)),
                    "{}", error
                ),
            }
        }
    }

    #[test]
    fn any_program_comes_to_a_result_or_an_error(
        bodies in prop::collection::vec(prop::collection::vec(instruction(), 0..6), 1..4),
        ranks in 1..5_usize,
        size in 0..100_u64,
    ) {
        let Ok(schedule) = custom(ranks, Program::parallel(bodies)) else {
            return Ok(());
        };
        let topology = Topology::ring(ranks, link(1_000_000_000_000, 10)).expect("a ring");
        let _ = schedule.to_string();
        // What comes of it is for other tests; here only whether anything does.
        let _ = verify(&schedule, &mut |_| Control::Continue);
        for model in Model::ALL {
            if let Err(error) = run(&topology, &schedule, size, model) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// Expressions of any kind, sensible or not.
fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        4 => (-2..6_i64).prop_map(Expr::from),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(1 << 32)].prop_map(Expr::from),
        2 => Just(Expr::rank()),
        1 => (0..2_usize).prop_map(Expr::coordinate),
        2 => (0..3_usize).prop_map(Expr::var),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let op = prop_oneof![
            Just(Op::Add),
            Just(Op::Sub),
            Just(Op::Mul),
            Just(Op::Div),
            Just(Op::Mod),
            Just(Op::Xor),
            Just(Op::Min),
            Just(Op::Max),
        ];
        prop_oneof![
            3 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, left, right)| Expr::Binary(op, Box::new(left), Box::new(right))),
            1 => inner.clone().prop_map(|number| Expr::rank_at(Place::rank(number))),
            1 => (inner.clone(), inner).prop_map(|(by, to)| Expr::coordinate_at(Place::shift(0, by).then_set(0, to), 0)),
        ]
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        4 => Just(next()),
        4 => Just(previous()),
        1 => expr().prop_map(|by| Place::shift(0, by)),
        1 => expr().prop_map(|mask| Place::xor(0, mask)),
        1 => expr().prop_map(Place::rank),
    ]
}

fn chunks() -> impl Strategy<Value = Chunks> {
    let buffer = prop_oneof![Just(Buffer::Input), Just(Buffer::Output), Just(Buffer::Scratch)];
    let stride = prop_oneof![Just(1_u64), Just(0), Just(2), Just(u64::MAX)];
    (buffer, expr(), prop::option::of((expr(), stride)), any::<bool>()).prop_map(|(buffer, first, run, wraps)| {
        let mut chunks = Chunks::one(buffer, first);
        if let Some((count, stride)) = run {
            chunks = chunks.repeat(count, stride);
        }
        if wraps { chunks.wrapping() } else { chunks }
    })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let leaf = prop_oneof![
        4 => (place(), chunks()).prop_map(|(to, chunks)| Instruction::send(to, chunks)),
        3 => (place(), chunks()).prop_map(|(from, chunks)| Instruction::receive(from, chunks)),
        1 => (place(), chunks()).prop_map(|(from, chunks)| Instruction::reduce(from, chunks)),
        1 => (chunks(), chunks()).prop_map(|(from, to)| Instruction::copy(from, to)),
        1 => (0..3_usize, expr()).prop_map(|(stream, count)| Instruction::Wait { stream, count }),
        1 => (0..3000_u64).prop_map(|time| Instruction::Compute { time: Time::from_picoseconds(time) }),
    ];
    leaf.prop_recursive(5, 12, 3, |inner| {
        (0..4_u64, prop::collection::vec(inner, 0..3)).prop_map(|(times, body)| Instruction::Loop { times, body })
    })
}

#[test]
fn sizes_beyond_the_engines_numbers_are_refused() {
    let schedule = build(&pair(1, 0), Collective::AllReduce, "ring", 0);
    for size in [1 << 62, u64::MAX - 1, u64::MAX] {
        // The fastest link there can be, so that the bytes themselves are what is too much.
        let fast = pair(u64::MAX, 0).with_packet_format(packet_format(1 << 62, 0));
        for model in Model::ALL {
            assert_eq!(
                run(&fast, &schedule, size, model).expect_err("over 4 EiB are moved"),
                SimulationError::TooLong {
                    what: "bytes",
                    limit: "2^62 (4 EiB)",
                },
                "{size} {model}"
            );
        }
    }
}

#[test]
fn a_byte_a_second_is_simulated_for_as_long_as_times_last() {
    let (seconds, slow) = (1_000_000_000_000, pair(1, 0));
    let schedule = build(&slow, Collective::AllReduce, "ring", 0);
    for model in Model::ALL {
        // Two steps of one byte.
        let outcome = run(&slow, &schedule, 2, model).expect("two seconds");
        assert_eq!(outcome.finish, [Time::from_picoseconds(2 * seconds); 2]);
        // A million seconds a message: the sum of all four delays is below 2^62 ps, that of forty isn't.
        assert!(run(&slow, &schedule, 2_000_000, model).is_ok());
        let error = run(&slow, &schedule, 20_000_000, model).expect_err("a year");
        assert!(
            matches!(error, SimulationError::TooLong { .. } | SimulationError::Unit(_)),
            "{error}"
        );
    }
}

#[test]
fn the_longest_latency_is_refused() {
    for model in Model::ALL {
        let schedule = build(&pair(1, 0), Collective::AllReduce, "ring", 0);
        let error = run(&pair(1 << 40, u64::MAX), &schedule, 8, model).expect_err("584,000 years");
        assert_eq!(
            error,
            SimulationError::TooLong {
                what: "delays",
                limit: "2^62 ps (53 days)",
            }
        );
    }
}

#[test]
fn costs_beyond_the_engines_numbers_are_refused() {
    let longest = Time::from_picoseconds(u64::MAX);
    let slowest = Bandwidth::new(1).expect("above zero");
    let program = Program::single(vec![
        Instruction::copy(output(0), output(1)),
        Instruction::send(next(), output(0)),
        Instruction::reduce(previous(), output(2)),
    ]);
    let schedule = custom(2, program).expect("well formed");
    let topology = pair(1 << 40, 0).with_packet_format(packet_format(1 << 40, 0));
    for endpoint in [
        Endpoint::free().with_launch(longest),
        Endpoint::free().with_completion(longest),
        Endpoint::free().with_reduction(slowest),
        Endpoint::free().with_copy(slowest),
    ] {
        let topology = topology.clone().with_endpoint(endpoint);
        for model in Model::ALL {
            let error = run(&topology, &schedule, 1 << 40, model).expect_err("too long");
            assert!(
                matches!(error, SimulationError::TooLong { .. } | SimulationError::Unit(_)),
                "{error}"
            );
        }
    }
    let compute = Program::single(vec![Instruction::Compute { time: longest }]);
    let schedule = custom(1, compute).expect("well formed");
    let alone = Topology::ring(1, link(1, 0)).expect("a ring");
    for model in Model::ALL {
        assert!(matches!(
            run(&alone, &schedule, 0, model),
            Err(SimulationError::TooLong { what: "delays", .. })
        ));
    }
}

#[test]
fn a_header_larger_than_times_hold_is_refused() {
    let schedule = build(&pair(1, 0), Collective::AllReduce, "ring", 0);
    let slow = pair(1, 0).with_packet_format(packet_format(1, u64::MAX - 1));
    assert!(matches!(
        run(&slow, &schedule, 2, Model::Packet),
        Err(SimulationError::Unit(_))
    ));
    let fast = pair(u64::MAX, 0).with_packet_format(packet_format(1, u64::MAX - 1));
    assert!(matches!(
        run(&fast, &schedule, 2, Model::Packet),
        Err(SimulationError::TooLong { what: "bytes", .. })
    ));
}

#[test]
fn one_rank_ends_at_once_whatever_the_collective() {
    let alone = Topology::switch(1, 1, link(1, 1)).expect("a switch");
    for collective in Collective::ALL {
        for name in fitting(collective) {
            let schedule = build(&alone, collective, name, 0);
            for model in Model::ALL {
                let outcome = run(&alone, &schedule, 1 << 40, model).expect("nothing to do");
                assert_eq!((outcome.finish, outcome.messages), (vec![Time::ZERO], 0));
            }
        }
    }
}

#[test]
fn no_bytes_take_the_latency_of_their_messages() {
    let topology = Topology::switch(5, 1, link(1, 1000)).expect("a switch");
    for collective in Collective::ALL {
        for name in fitting(collective) {
            let schedule = build(&topology, collective, name, 0);
            for model in Model::ALL {
                let outcome = run(&topology, &schedule, 0, model).expect("a result");
                let time = outcome.finish.iter().max().expect("ranks").picoseconds();
                assert!(time > 0 && time.is_multiple_of(2000), "{collective} {name}: {time}");
                assert_eq!(outcome.traffic.link_bytes, vec![0; topology.links()]);
            }
        }
    }
}

#[test]
fn loops_nest_four_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let innermost = vec![
            Instruction::send(next(), output(Expr::var(depth - 1) % 4)),
            Instruction::receive(previous(), output(Expr::var(0) % 4)),
        ];
        let body = (0..depth).fold(innermost, |body, _| vec![Instruction::repeat(3, body)]);
        custom(2, Program::single(body))
    };
    for model in Model::ALL {
        let outcome = run(&pair(1 << 40, 10), &nested(4).expect("four loops"), 8, model).expect("a result");
        assert_eq!(outcome.messages, 2 * 81);
    }
    let error = nested(5).expect_err("five loops");
    assert!(error.to_string().contains("nest more than 4 deep"), "{error}");
}

#[test]
fn a_million_passes_of_a_loop_are_run_and_2_to_the_64_counted() {
    let exchange = |times: u64| {
        let body = vec![
            Instruction::send(next(), output(0)),
            Instruction::receive(previous(), output(1)),
        ];
        custom(2, Program::single(vec![Instruction::Loop { times, body }])).expect("well formed")
    };
    let topology = pair(1_000_000_000_000, 10);
    for model in Model::ALL {
        let outcome = run(&topology, &exchange(1_000_000), 4, model).expect("a result");
        assert_eq!(outcome.finish, [Time::from_picoseconds(11_000_000); 2]);
    }
    // More than can be run: proofs refuse it, and a run stops when it is told to.
    let endless = exchange(u64::MAX);
    let error = verify(&endless, &mut |_| Control::Continue).expect_err("too many");
    assert!(
        matches!(
            error,
            SimulationError::Schedule(ScheduleError::TooLarge {
                what: "instructions",
                ..
            })
        ),
        "{error}"
    );
    for model in Model::ALL {
        let stopped = simulate(&topology, &endless, Bytes::new(4), 1, model, &mut |_| Control::Stop);
        assert!(
            matches!(stopped, Err(SimulationError::Interrupted { .. })),
            "{stopped:?}"
        );
    }
}

#[test]
fn a_loop_of_what_takes_no_time_can_be_interrupted() {
    let forever = Instruction::Loop {
        times: u64::MAX,
        body: vec![Instruction::copy(output(0), output(1))],
    };
    let schedule = custom(1, Program::single(vec![forever])).expect("well formed");
    let alone = Topology::ring(1, link(1, 0)).expect("a ring");
    for model in Model::ALL {
        let stopped = simulate(&alone, &schedule, Bytes::new(4), 1, model, &mut |_| Control::Stop);
        assert!(
            matches!(stopped, Err(SimulationError::Interrupted { time_ps: 0, .. })),
            "{stopped:?}"
        );
    }
}

#[test]
fn a_run_of_few_instants_can_be_interrupted() {
    // 14 steps of 8 messages at once, each of 2^15 packets that pass a switch: 2^18 events between two instants.
    let topology = Topology::switch(8, 1, link(1_000_000_000, 0)).expect("a switch");
    let schedule = build(&topology, Collective::AllReduce, "ring", 0);
    let mut asked = 0;
    let size = Bytes::new(8 * 4096 * (1 << 15));
    let each_event = Options::from(Model::Packet).with_fold(false).with_leap(false);
    simulate(&topology, &schedule, size, 1, each_event, &mut |_| {
        asked += 1;
        Control::Continue
    })
    .expect("a run");
    assert!(asked > 0);
}

#[test]
fn a_start_of_many_messages_can_be_interrupted() {
    // 600 ranks post 599 messages each before anything is due.
    let topology = Topology::switch(600, 1, link(1_000_000_000, 0)).expect("a switch");
    let schedule = build(&topology, Collective::AllToAll, "direct", 0);
    let stopped = simulate(
        &topology,
        &schedule,
        Bytes::new(600),
        1,
        Model::LogGp,
        &mut |progress| {
            assert_eq!(progress.time, Time::ZERO);
            Control::Stop
        },
    );
    assert!(matches!(stopped, Err(SimulationError::Interrupted { .. })));
}

#[test]
fn loops_around_nothing_end_at_once() {
    let forever = |body| Instruction::Loop { times: u64::MAX, body };
    let empty = forever(vec![
        forever(Vec::new()),
        Instruction::repeat(0, vec![forever(Vec::new())]),
    ]);
    let schedule = custom(1, Program::single(vec![empty])).expect("well formed");
    let alone = Topology::ring(1, link(1, 0)).expect("a ring");
    for model in Model::ALL {
        assert_eq!(run(&alone, &schedule, 0, model).expect("a result").finish, [Time::ZERO]);
    }
}

#[test]
fn a_message_to_oneself_is_refused() {
    for peer in [
        Place::here(),
        Place::shift(0, 2),
        Place::xor(0, 0),
        Place::rank(Expr::rank()),
    ] {
        let send = custom(2, Program::single(vec![Instruction::send(peer.clone(), output(0))])).expect("well formed");
        let receive = custom(2, Program::single(vec![Instruction::receive(peer, output(0))])).expect("well formed");
        for model in Model::ALL {
            for schedule in [&send, &receive] {
                let error = run(&pair(1, 0), schedule, 4, model).expect_err("no such message");
                assert!(error.to_string().contains("names itself as its peer"), "{error}");
            }
        }
    }
}

#[test]
fn ranks_that_wait_in_a_circle_are_named() {
    let wait_first = Program::single(vec![
        Instruction::receive(previous(), output(0)),
        Instruction::send(next(), output(0)),
    ]);
    let schedule = custom(5, wait_first).expect("well formed");
    let topology = Topology::ring(5, link(1, 0)).expect("a ring");
    for model in Model::ALL {
        assert_eq!(
            run(&topology, &schedule, 4, model).expect_err("nobody starts"),
            SimulationError::Deadlock {
                time_ps: 0,
                waiting: 5,
                ranks: 5,
                first: "rank 0, stream 0, after 0 instructions, waits for a message from rank 4 on channel 0"
                    .to_owned(),
            }
        );
    }
}

#[test]
fn more_ranks_than_chips_are_refused() {
    let schedule = build(
        &Topology::ring(3, link(1, 0)).expect("a ring"),
        Collective::AllReduce,
        "ring",
        0,
    );
    for model in Model::ALL {
        assert_eq!(
            run(&pair(1, 0), &schedule, 3, model).expect_err("three ranks on two chips"),
            SimulationError::Ranks {
                schedule: 3,
                topology: 2
            }
        );
    }
}

#[test]
fn axes_and_divisors_that_are_not_there_are_refused() {
    for bad in [
        Instruction::send(Place::shift(1, 1), output(0)),
        Instruction::send(next(), output(Expr::coordinate(1))),
        Instruction::send(next(), output(Expr::var(0))),
        Instruction::send(next(), output(Expr::rank() / Expr::rank())),
        Instruction::send(next(), output(Expr::rank() % 0)),
        Instruction::send(next(), output(Expr::rank() % -3)),
        Instruction::Wait {
            stream: 0,
            count: Expr::from(1),
        },
        Instruction::Wait {
            stream: 1,
            count: Expr::from(1),
        },
    ] {
        assert!(matches!(
            custom(2, Program::single(vec![bad])),
            Err(ScheduleError::Malformed { rank: 0, stream: 0, .. })
        ));
    }
    assert_eq!(Place::rank(3).moves(), [Move::Rank(Expr::from(3))]);
}
