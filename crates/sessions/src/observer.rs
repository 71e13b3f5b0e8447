//! Observers of sessions, beside the log: metrics and traces.
//!
//! In: moments of sessions, turns, workers and questions. Out: nothing that a session waits
//! for, but one thing that it passes on: the trace that a turn belongs to, which the agent
//! is told in `_meta`.
//!
//! What lasts is watched by a value that is dropped with it, so that nothing is counted
//! as running that is not, whichever way it ended. With no observer all of this is nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bus::ExitReport;
use serde::Deserialize;
use wire::event::TurnEnded;
use wire::{Json, SessionId, TurnId};

/// An observer of moments in sessions. Called from the tasks of sessions: must not block.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A session lives until what is given back is dropped.
    fn session(&self, _agent: &str) -> Option<Box<dyn ObservationGuard>> {
        None
    }

    /// A prompt is in the log; its turn is watched until it is over.
    fn prompt(&self, _prompt: &ReceivedPrompt<'_>) -> Option<Box<dyn TurnWatch>> {
        None
    }

    /// A step towards an agent that has the session, inside of `parent` if there is one.
    fn step(
        &self,
        _step: StartupStep,
        _agent: &str,
        _parent: Option<&TraceContext>,
    ) -> Option<Box<dyn StepWatch>> {
        None
    }

    /// A worker process runs until what is given back is dropped.
    fn worker(&self, _agent: &str) -> Option<Box<dyn ObservationGuard>> {
        None
    }

    fn worker_exited(&self, _agent: &str, _exit: &ExitReport) {}

    /// A question waits for a person until what is given back is dropped.
    fn question(&self, _agent: &str) -> Option<Box<dyn ObservationGuard>> {
        None
    }

    /// A permission was decided, by a rule, a mode, a person or for want of one.
    fn decided(&self, _agent: &str, _by: &str, _is_allowed: bool) {}

    /// Events were committed.
    fn appended(&self, _n_events: usize, _took: Duration) {}
}

/// A guard of something that is over when the guard is dropped.
pub trait ObservationGuard: Send + Sync {}

impl<T: Send + Sync> ObservationGuard for T {}

/// One prompt on its way: received, begun, ended. Dropped without an end it never ran.
pub trait TurnWatch: Send + Sync {
    fn begun(&mut self) {}

    /// The trace context that the agent gets in `_meta`.
    fn context(&self) -> Option<TraceContext> {
        None
    }

    /// The agent said something about a tool call.
    fn tool(&mut self, _call: &ObservedToolCall<'_>) {}

    fn ended(&mut self, _end: &TurnEnded<'_>) {}
}

/// The guard of a step; dropped without an end, the step was given up.
pub trait StepWatch: Send + Sync {
    fn ended(&mut self, error: Option<&str>);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartupStep {
    StartWorker,
    Initialize,
    OpenSession,
}

#[derive(Debug, Clone, Copy)]
pub struct ReceivedPrompt<'a> {
    pub session: SessionId,
    pub turn: TurnId,
    pub agent: &'a str,
    /// The raw params of `session/prompt`.
    pub params: &'a Json,
}

#[derive(Debug, Clone, Copy)]
pub struct ObservedToolCall<'a> {
    pub id: &'a str,
    pub kind: Option<&'a str>,
    pub title: Option<&'a str>,
    pub status: Option<&'a str>,
}

/// The trace and the span that something belongs to, as W3C writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    pub traceparent: String,
    pub tracestate: Option<String>,
}

impl TraceContext {
    /// From `_meta` of a client's params.
    pub fn of_meta(params: &Json) -> Option<Self> {
        #[derive(Deserialize)]
        struct TraceParams {
            #[serde(rename = "_meta")]
            meta: TraceMeta,
        }
        #[derive(Deserialize)]
        struct TraceMeta {
            traceparent: String,
            #[serde(default)]
            tracestate: Option<String>,
        }
        let TraceParams { meta } = params.read().ok()?;
        Some(Self { traceparent: meta.traceparent, tracestate: meta.tracestate })
    }

    /// `params` with this in their `_meta`; every other byte of them stays.
    pub fn put(&self, params: Json) -> Json {
        let set = |params: Json, name, value: &String| {
            wire::set_member(&params, &["_meta", name], &Json::of(value)).unwrap_or(params)
        };
        let params = set(params, "traceparent", &self.traceparent);
        match &self.tracestate {
            Some(tracestate) => set(params, "tracestate", tracestate),
            None => params,
        }
    }
}

tokio::task_local! {
    static PARENT: Option<TraceContext>;
}

/// Runs `work` so that its steps belong to `parent`.
pub(crate) async fn with_parent<F: Future>(parent: Option<TraceContext>, work: F) -> F::Output {
    PARENT.scope(parent, work).await
}

/// All observers. Cheap to clone; empty by default.
#[derive(Debug, Clone, Default)]
pub struct Observers(Arc<[Arc<dyn Observer>]>);

impl FromIterator<Arc<dyn Observer>> for Observers {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Observer>>>(observers: I) -> Self {
        Self(observers.into_iter().collect())
    }
}

impl Observers {
    /// These and one more.
    #[must_use]
    pub fn and(&self, observer: Arc<dyn Observer>) -> Self {
        self.0.iter().cloned().chain([observer]).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The trace that a client's request belongs to, if anybody asks for it.
    pub(crate) fn trace_of(&self, params: &Json) -> Option<TraceContext> {
        (!self.is_empty()).then(|| TraceContext::of_meta(params)).flatten()
    }

    /// Collects a guard from each observer that has something to watch.
    pub(crate) fn watch<T: ?Sized>(
        &self,
        watch: impl Fn(&dyn Observer) -> Option<Box<T>>,
    ) -> WatchGuards<T> {
        WatchGuards(self.0.iter().filter_map(|observer| watch(&**observer)).collect())
    }

    pub(crate) fn for_each(&self, tell: impl Fn(&dyn Observer)) {
        self.0.iter().for_each(|observer| tell(&**observer));
    }

    pub(crate) fn step(&self, step: StartupStep, agent: &str) -> WatchGuards<dyn StepWatch> {
        if self.is_empty() {
            return WatchGuards::default();
        }
        let parent = PARENT.try_with(Clone::clone).ok().flatten();
        self.watch(|observer| observer.step(step, agent, parent.as_ref()))
    }
}

/// The guards that the observers gave, one each at most.
pub(crate) struct WatchGuards<T: ?Sized>(Vec<Box<T>>);

impl<T: ?Sized> WatchGuards<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: ?Sized> Default for WatchGuards<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ?Sized> fmt::Debug for WatchGuards<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({})", self.0.len())
    }
}

impl WatchGuards<dyn TurnWatch> {
    pub(crate) fn begun(&mut self) {
        self.0.iter_mut().for_each(|watch| watch.begun());
    }

    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.0.iter().find_map(|watch| watch.context())
    }

    pub(crate) fn tool(&mut self, call: &ObservedToolCall<'_>) {
        self.0.iter_mut().for_each(|watch| watch.tool(call));
    }

    /// The turn is over, as its event says.
    pub(crate) fn ended(self, ended: &TurnEnded<'_>) {
        for mut watch in self.0 {
            watch.ended(ended);
        }
    }
}

impl WatchGuards<dyn StepWatch> {
    /// The step is over with `result`, which is passed on.
    pub(crate) fn ended<T, E: fmt::Display>(self, result: Result<T, E>) -> Result<T, E> {
        if !self.is_empty() {
            let error = result.as_ref().err().map(ToString::to_string);
            for mut watch in self.0 {
                watch.ended(error.as_deref());
            }
        }
        result
    }
}

#[cfg(test)]
mod tests;
