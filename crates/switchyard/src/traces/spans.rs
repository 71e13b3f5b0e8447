//! Turns, steps and tool calls as spans.
//!
//! A turn's span begins when its prompt is in the log and ends with the turn; waiting and
//! starting the agent are inside of it. Its parent is what the client named in
//! `_meta.traceparent`. Attributes follow OpenTelemetry's conventions for generative AI
//! where there is one; prompts and answers are never among them.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, Span};
use projection::TurnUsage;
use server::secrets::Secrets;
use sessions::observer::{
    ObservedToolCall, Observer, ReceivedPrompt, StartupStep, StepWatch, TraceContext, TurnWatch,
};
use wire::event::{StopReason, TurnEnded};

/// Tool calls of one turn that get a span.
const MAX_TOOLS: usize = 512;
/// The longest title or error in a span.
const MAX_CHARS: usize = 200;

#[derive(Debug, Clone)]
pub(super) struct SpanObserver {
    pub(super) tracer: SdkTracer,
    pub(super) secrets: Secrets,
}

impl SpanObserver {
    fn begin<const N: usize>(
        &self,
        name: String,
        kind: SpanKind,
        attributes: [KeyValue; N],
        parent: &Context,
    ) -> Span {
        let builder = self.tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        self.tracer.build_with_context(builder, parent)
    }

    /// A text of an agent or client as one safe line, with secrets redacted.
    fn shown(&self, text: &str) -> String {
        projection::sanitize_line(&self.secrets.redact(text), MAX_CHARS)
    }
}

impl Observer for SpanObserver {
    fn prompt(&self, prompt: &ReceivedPrompt<'_>) -> Option<Box<dyn TurnWatch>> {
        let parent = TraceContext::of_meta(prompt.params).map(|given| context_of(&given));
        let agent = self.shown(prompt.agent);
        let attributes = [
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", agent.clone()),
            KeyValue::new("gen_ai.conversation.id", prompt.session.to_string()),
            KeyValue::new("switchyard.turn.id", prompt.turn.to_string()),
        ];
        let name = format!("invoke_agent {agent}");
        let parent = parent.unwrap_or_default();
        let span = self.begin(name, SpanKind::Server, attributes, &parent);
        let inside = Context::new().with_remote_span_context(span.span_context().clone());
        let (observer, tools) = (self.clone(), HashMap::new());
        Some(Box::new(TurnSpan { observer, span, inside, tools, n_tools: 0 }))
    }

    fn step(
        &self,
        step: StartupStep,
        agent: &str,
        parent: Option<&TraceContext>,
    ) -> Option<Box<dyn StepWatch>> {
        let name = match step {
            StartupStep::StartWorker => "start worker",
            StartupStep::Initialize => "initialize agent",
            StartupStep::OpenSession => "open session",
        };
        let attributes = [KeyValue::new("gen_ai.agent.name", self.shown(agent))];
        let parent = parent.map(context_of).unwrap_or_default();
        let span = self.begin(name.to_owned(), SpanKind::Client, attributes, &parent);
        Some(Box::new(StepSpan { span, observer: self.clone() }))
    }
}

struct TurnSpan {
    observer: SpanObserver,
    span: Span,
    inside: Context,
    /// The spans of the tool calls that run.
    tools: HashMap<String, Span>,
    n_tools: usize,
}

impl TurnWatch for TurnSpan {
    fn begun(&mut self) {
        self.span.add_event("sent to the agent", Vec::new());
    }

    fn context(&self) -> Option<TraceContext> {
        let mut carrier = HashMap::new();
        TraceContextPropagator::new().inject_context(&self.inside, &mut carrier);
        let traceparent = carrier.remove("traceparent")?;
        let tracestate = carrier.remove("tracestate").filter(|state| !state.is_empty());
        Some(TraceContext { traceparent, tracestate })
    }

    fn tool(&mut self, call: &ObservedToolCall<'_>) {
        if !self.tools.contains_key(call.id) {
            if self.n_tools >= MAX_TOOLS || is_over(call.status) && call.kind.is_none() {
                return;
            }
            self.n_tools += 1;
            let kind = self.observer.shown(call.kind.unwrap_or("other"));
            let attributes = [
                KeyValue::new("gen_ai.operation.name", "execute_tool"),
                KeyValue::new("gen_ai.tool.call.id", self.observer.shown(call.id)),
                KeyValue::new("gen_ai.tool.name", kind.clone()),
            ];
            let name = format!("execute_tool {kind}");
            let span = self.observer.begin(name, SpanKind::Internal, attributes, &self.inside);
            self.tools.insert(call.id.to_owned(), span);
        }
        let Some(span) = self.tools.get_mut(call.id) else { return };
        if let Some(title) = call.title {
            let title = self.observer.shown(title);
            span.set_attribute(KeyValue::new("gen_ai.tool.description", title));
        }
        if is_over(call.status) {
            if call.status == Some("failed") {
                span.set_status(Status::error("the tool call failed"));
            }
            span.end();
            self.tools.remove(call.id);
        }
    }

    fn ended(&mut self, end: &TurnEnded<'_>) {
        let reason = self.observer.shown(end.stop_reason.as_str());
        self.span.set_attribute(KeyValue::new("switchyard.stop_reason", reason));
        if let Some(usage) = TurnUsage::of(end) {
            for (name, n_tokens) in [
                ("gen_ai.usage.input_tokens", usage.input_tokens),
                ("gen_ai.usage.output_tokens", usage.output_tokens),
                ("switchyard.usage.total_tokens", usage.total_tokens),
            ] {
                if let Some(n_tokens) = n_tokens.and_then(|n| i64::try_from(n).ok()) {
                    self.span.set_attribute(KeyValue::new(name, n_tokens));
                }
            }
        }
        if end.stop_reason == StopReason::Error {
            let category = end.error.as_ref().map_or("", |error| error.category.as_str());
            let category = self.observer.shown(category);
            self.span.set_attribute(KeyValue::new("error.type", category.clone()));
            self.span.set_status(Status::error(category));
        }
        self.tools.clear();
        self.span.end();
    }
}

impl Drop for TurnSpan {
    fn drop(&mut self) {
        // A span that has ended takes no more; the others end with their values.
        self.span.set_attribute(KeyValue::new("switchyard.stop_reason", "dropped"));
    }
}

struct StepSpan {
    span: Span,
    observer: SpanObserver,
}

impl StepWatch for StepSpan {
    fn ended(&mut self, error: Option<&str>) {
        if let Some(error) = error {
            self.span.set_status(Status::error(self.observer.shown(error)));
        }
        self.span.end();
    }
}

fn is_over(status: Option<&str>) -> bool {
    matches!(status, Some("completed" | "failed"))
}

/// The trace context of a client or a turn; one without a span if it cannot be parsed.
fn context_of(given: &TraceContext) -> Context {
    let mut carrier = HashMap::from([("traceparent".to_owned(), given.traceparent.clone())]);
    carrier.extend(given.tracestate.clone().map(|state| ("tracestate".to_owned(), state)));
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier)
}
