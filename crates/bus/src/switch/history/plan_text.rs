//! A plan as one line of JSON, for recorded histories.

use serde::{Deserialize, Serialize};

use crate::switch::{
    Backoff, Intensity, Limits, Ping, Plan, PoolPlan, QueueMarks, Restart, Sharing, Start,
};

#[derive(Serialize, Deserialize)]
struct PlanText {
    pools: Vec<PoolText>,
    max_clients: usize,
    max_open_per_client: usize,
    max_sessions: usize,
    client_queue: [usize; 3],
    worker_queue: [usize; 3],
    session_grace: u64,
    slow_client_after: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct PoolText {
    name: String,
    launch: String,
    size: [u32; 2],
    is_ahead: bool,
    #[serde(default)]
    is_for_one_client: bool,
    restart: RestartText,
    backoff: (u64, u64, u32),
    intensity: (u32, u64, u64),
    drain_timeout: u64,
    ping: Option<(String, u64, u64)>,
    max_memory_bytes: Option<u64>,
    request_timeout: Option<u64>,
    #[serde(default)]
    prompt_timeout: Option<u64>,
    max_sessions_per_worker: Option<u32>,
    idle_stop: Option<u64>,
    fan_out: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RestartText {
    Always,
    OnFailure,
    Never,
}

pub(super) fn write(plan: &Plan) -> String {
    let marks = |marks: QueueMarks| [marks.low, marks.high, marks.full];
    let limits = &plan.limits;
    let text = PlanText {
        pools: plan.pools.iter().map(pool_text).collect(),
        max_clients: limits.max_clients,
        max_open_per_client: limits.max_open_per_client,
        max_sessions: limits.max_sessions,
        client_queue: marks(limits.client_queue),
        worker_queue: marks(limits.worker_queue),
        session_grace: limits.session_grace,
        slow_client_after: limits.slow_client_after,
    };
    wire::Json::of(&text).as_str().to_owned()
}

pub(super) fn read(text: &str) -> Result<Plan, String> {
    let text: PlanText = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let marks = |[low, high, full]: [usize; 3]| QueueMarks { low, high, full };
    Ok(Plan {
        pools: text.pools.into_iter().map(read_pool).collect(),
        limits: Limits {
            max_clients: text.max_clients,
            max_open_per_client: text.max_open_per_client,
            max_sessions: text.max_sessions,
            client_queue: marks(text.client_queue),
            worker_queue: marks(text.worker_queue),
            session_grace: text.session_grace,
            slow_client_after: text.slow_client_after,
        },
    })
}

fn pool_text(pool: &PoolPlan) -> PoolText {
    let Backoff { initial, max, jitter_percent } = pool.backoff;
    let Intensity { n_deaths, window, cool_down } = pool.intensity;
    PoolText {
        name: pool.name.to_string(),
        launch: pool.launch.to_string(),
        size: [pool.min, pool.max],
        is_ahead: pool.start == Start::Ahead,
        is_for_one_client: pool.sharing == Sharing::OneClient,
        restart: match pool.restart {
            Restart::Always => RestartText::Always,
            Restart::OnFailure => RestartText::OnFailure,
            Restart::Never => RestartText::Never,
        },
        backoff: (initial, max, jitter_percent),
        intensity: (n_deaths, window, cool_down),
        drain_timeout: pool.drain_timeout,
        ping: pool.ping.as_ref().map(|p| (p.method.to_string(), p.interval, p.timeout)),
        max_memory_bytes: pool.max_memory_bytes,
        request_timeout: pool.request_timeout,
        prompt_timeout: pool.prompt_timeout,
        max_sessions_per_worker: pool.max_sessions_per_worker,
        idle_stop: pool.idle_stop,
        fan_out: pool.fan_out.iter().map(ToString::to_string).collect(),
    }
}

fn read_pool(text: PoolText) -> PoolPlan {
    let (initial, max, jitter_percent) = text.backoff;
    let (n_deaths, window, cool_down) = text.intensity;
    let [smallest, largest] = text.size;
    PoolPlan {
        name: text.name.into(),
        launch: text.launch.into(),
        min: smallest,
        max: largest,
        start: if text.is_ahead { Start::Ahead } else { Start::OnDemand },
        sharing: if text.is_for_one_client { Sharing::OneClient } else { Sharing::Shared },
        restart: match text.restart {
            RestartText::Always => Restart::Always,
            RestartText::OnFailure => Restart::OnFailure,
            RestartText::Never => Restart::Never,
        },
        backoff: Backoff { initial, max, jitter_percent },
        intensity: Intensity { n_deaths, window, cool_down },
        drain_timeout: text.drain_timeout,
        ping: text.ping.map(|(method, interval, timeout)| Ping {
            method: method.into(),
            interval,
            timeout,
        }),
        max_memory_bytes: text.max_memory_bytes,
        request_timeout: text.request_timeout,
        prompt_timeout: text.prompt_timeout,
        max_sessions_per_worker: text.max_sessions_per_worker,
        idle_stop: text.idle_stop,
        fan_out: text.fan_out.into_iter().map(Into::into).collect(),
    }
}
