//! Random histories against a simple model of what must be true.
//!
//! The world has clients, agents and pipes of its own and does what the switch says. Every
//! request carries a token, every session a tag, every message in a session a number; so each
//! party can tell whether what reaches it was meant for it, is in order and comes once. Names
//! of sessions and ids of requests are the same for everybody, so that they collide.
//!
//! After every step the switch's books are compared with each other and with the world's.

use proptest::prelude::*;

use super::*;
use world::World;

mod agents;
mod books;
mod people;
mod world;

/// One thing that happens. Numbers pick one of those that there are.
#[derive(Debug, Clone)]
enum Op {
    ClientComes,
    ClientLeaves(u8),
    ClientFinishes(u8, u8),
    Initialize(u8),
    NewSession(u8),
    Prompt(u8, u8),
    Note(u8, u8),
    Plain(u8),
    List(u8),
    Load(u8, u8),
    Close(u8, u8),
    Cancel(u8, u8),
    Garbage(u8, u8),
    Answer(u8, u8),
    ClientReads(u8),
    AgentStarts(u8),
    AgentFailsToStart(u8),
    AgentReads(u8),
    AgentAnswers(u8, u8),
    AgentRefuses(u8, u8),
    AgentUpdates(u8, u8),
    AgentAsks(u8, u8),
    AgentTells(u8),
    AgentGarbage(u8, u8),
    AgentDies(u8, bool),
    AgentStuck(u8),
    AgentSwells(u8),
    Time(u16),
    Reload(u8),
    Command(u8),
}

fn op() -> impl Strategy<Value = Op> {
    use Op::*;
    let n = || any::<u8>();
    prop_oneof![
        2 => Just(ClientComes),
        1 => n().prop_map(ClientLeaves),
        1 => (n(), n()).prop_map(|(a, b)| ClientFinishes(a, b)),
        3 => n().prop_map(Initialize),
        6 => n().prop_map(NewSession),
        10 => (n(), n()).prop_map(|(a, b)| Prompt(a, b)),
        3 => (n(), n()).prop_map(|(a, b)| Note(a, b)),
        6 => n().prop_map(Plain),
        2 => n().prop_map(List),
        2 => (n(), n()).prop_map(|(a, b)| Load(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Close(a, b)),
        2 => (n(), n()).prop_map(|(a, b)| Cancel(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Garbage(a, b)),
        4 => (n(), n()).prop_map(|(a, b)| Answer(a, b)),
        6 => n().prop_map(ClientReads),
        6 => n().prop_map(AgentStarts),
        1 => n().prop_map(AgentFailsToStart),
        14 => n().prop_map(AgentReads),
        16 => (n(), n()).prop_map(|(a, b)| AgentAnswers(a, b)),
        2 => (n(), n()).prop_map(|(a, b)| AgentRefuses(a, b)),
        12 => (n(), n()).prop_map(|(a, b)| AgentUpdates(a, b)),
        4 => (n(), n()).prop_map(|(a, b)| AgentAsks(a, b)),
        2 => n().prop_map(AgentTells),
        1 => (n(), n()).prop_map(|(a, b)| AgentGarbage(a, b)),
        2 => (n(), any::<bool>()).prop_map(|(a, b)| AgentDies(a, b)),
        1 => n().prop_map(AgentStuck),
        1 => n().prop_map(AgentSwells),
        5 => any::<u16>().prop_map(Time),
        1 => n().prop_map(Reload),
        1 => n().prop_map(Command),
    ]
}

/// The plans between which reloads choose.
fn plan_number(n: u8) -> SwitchPlan {
    let base = PoolPlan {
        backoff: Backoff { initial: 10, max: 500, jitter_percent: 50 },
        intensity: RestartIntensity { n_deaths: 4, window: 2000, cool_down: 1000 },
        drain_timeout: 300,
        max_memory_bytes: Some(1000),
        ..pool("p", 2)
    };
    let p = match n % 8 {
        0 => base,
        1 => PoolPlan { min: 1, max: 3, idle_stop: Some(400), prompt_timeout: Some(600), ..base },
        2 => PoolPlan { request_timeout: Some(700), ..base },
        3 => PoolPlan { launch: "other".into(), restart: RestartPolicy::OnFailure, ..base },
        4 => PoolPlan {
            start: StartPolicy::OnDemand,
            min: 0,
            max: 2,
            max_sessions_per_worker: Some(2),
            idle_stop: Some(300),
            ..base
        },
        5 => PoolPlan {
            ping: Some(PingPolicy { method: "ping".into(), interval: 500, timeout: 200 }),
            ..base
        },
        6 => PoolPlan { sharing: Sharing::OneClient, ..base },
        _ => PoolPlan {
            sharing: Sharing::OneClient,
            start: StartPolicy::OnDemand,
            min: 0,
            max: 3,
            idle_stop: Some(300),
            request_timeout: Some(900),
            prompt_timeout: Some(400),
            ..base
        },
    };
    let mut pools = vec![p];
    if n % 4 == 3 {
        pools.push(pool("q", 1));
    }
    SwitchPlan {
        pools,
        limits: SwitchLimits {
            max_clients: 4,
            max_open_per_client: 8,
            max_sessions: 12,
            max_sessions_per_client: 6,
            client_queue: QueueMarks { low: 300, high: 900, full: 2500 },
            worker_queue: QueueMarks { low: 300, high: 900, full: 2500 },
            session_grace: 800,
            slow_client_after: Some(1500),
        },
    }
}

fn run_world(plan: u8, seed: u64, ops: &[Op]) -> World {
    let mut world = World::new(plan_number(plan), seed);
    for op in ops {
        world.act(op);
    }
    world
}

fn n_cases() -> u32 {
    soak::size(150, 3_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_keeps_the_promises(
        plan in 0..8_u8,
        seed: u64,
        ops in prop::collection::vec(op(), 1..250),
    ) {
        let mut world = run_world(plan, seed, &ops);
        world.settle();
        world.end();
    }

    #[test]
    fn the_same_history_gives_the_same_outputs(
        plan in 0..8_u8,
        seed: u64,
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let first = std::mem::take(&mut run_world(plan, seed, &ops).recorded);
        let second = std::mem::take(&mut run_world(plan, seed, &ops).recorded);
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(super::replaying::replay(&first), Ok(()));
    }
}
