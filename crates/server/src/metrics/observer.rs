//! The metrics as an observer of sessions.

use std::borrow::Cow;
use std::time::Duration;

use bus::ExitReport;
use sessions::observer::{ObservationGuard, Observer, ReceivedPrompt, TurnWatch};

use super::{GaugeGuard, Metrics, labels};
use wire::event::TurnEnded;

struct TurnMetrics {
    metrics: Metrics,
    agent: Cow<'static, str>,
    running: Option<GaugeGuard>,
}

impl TurnWatch for TurnMetrics {
    fn begun(&mut self) {
        let labels = [("agent", self.agent.clone())];
        self.metrics.0.turns_started.get_or_create(&labels).inc();
        self.running = Some(GaugeGuard::one(&self.metrics.0.turns_running, self.agent.clone()));
    }

    fn ended(&mut self, end: &TurnEnded<'_>) {
        self.running = None;
        let reason = labels::stop_reason(end.stop_reason.as_str());
        let labels = [("agent", self.agent.clone()), ("reason", reason)];
        self.metrics.0.turns_ended.get_or_create(&labels).inc();
    }
}

impl Observer for Metrics {
    fn session(&self, agent: &str) -> Option<Box<dyn ObservationGuard>> {
        Some(Box::new(GaugeGuard::one(&self.0.sessions, self.agent(agent))))
    }

    fn prompt(&self, prompt: &ReceivedPrompt<'_>) -> Option<Box<dyn TurnWatch>> {
        let agent = self.agent(prompt.agent);
        self.0.prompts.get_or_create(&[("agent", agent.clone())]).inc();
        Some(Box::new(TurnMetrics { metrics: self.clone(), agent, running: None }))
    }

    fn worker(&self, agent: &str) -> Option<Box<dyn ObservationGuard>> {
        let agent = self.agent(agent);
        self.0.workers_started.get_or_create(&[("agent", agent.clone())]).inc();
        Some(Box::new(GaugeGuard::one(&self.0.workers_running, agent)))
    }

    fn worker_exited(&self, agent: &str, exit: &ExitReport) {
        let how = match (exit.code, exit.signal) {
            (Some(0), _) => "ok",
            (Some(_), _) => "failed",
            (None, Some(_)) => "killed",
            (None, None) => "lost",
        };
        let labels = [("agent", self.agent(agent)), ("how", Cow::Borrowed(how))];
        self.0.workers_exited.get_or_create(&labels).inc();
    }

    fn question(&self, _agent: &str) -> Option<Box<dyn ObservationGuard>> {
        Some(Box::new(GaugeGuard::of(self.0.questions.clone())))
    }

    fn decided(&self, _agent: &str, by: &str, is_allowed: bool) {
        let outcome = if is_allowed { "allowed" } else { "rejected" };
        let labels = [("outcome", Cow::Borrowed(outcome)), ("by", self.0.deciders.label(by))];
        self.0.decisions.get_or_create(&labels).inc();
    }

    fn appended(&self, n_events: usize, took: Duration) {
        self.0.events.inc_by(n_events as u64);
        self.0.appends.observe(took.as_secs_f64());
    }
}
