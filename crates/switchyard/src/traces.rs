//! OpenTelemetry traces, for those who have a collector: a span a turn, sent as OTLP over
//! HTTP.
//!
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) or `[traces] endpoint`
//! says where to. In: what happens in sessions [`spans`]. Out: batches to the collector, by a
//! thread of the SDK. Spans wait in a bounded queue; what does not fit is lost, and nothing
//! that serves a session ever waits for a collector.

mod client;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SdkTracerProvider};
use serde::Deserialize;
use server::secrets::Secrets;
use sessions::observer::Observer;

use client::CollectorClient;
use spans::SpanObserver;

/// `[traces]` of the configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TracesTable {
    /// A collector: `http://127.0.0.1:4318`. The environment wins.
    endpoint: Option<String>,
}

/// How long the end of the process may wait for the collector.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// How long sending one batch may take; the next one waits for it.
const EXPORT_WITHIN: Duration = Duration::from_secs(10);

/// The tracing of this process, where it is switched on.
#[derive(Debug)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    /// Makes spans of what happens in sessions.
    pub(crate) observer: Arc<dyn Observer>,
}

/// Begins to trace, if an endpoint is configured. To be called inside of the runtime.
pub(crate) fn start(table: &TracesTable, secrets: &Secrets) -> Result<Option<Traces>> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    for headers in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"] {
        for pair in variable(headers).iter().flat_map(|all| all.split(',')) {
            secrets.register(pair.split_once('=').map_or(pair, |(_, value)| value));
        }
    }
    let Some(endpoint) = endpoint(table, variable) else { return Ok(None) };
    Traces::to(&endpoint, secrets)
        .map(Some)
        .with_context(|| format!("cannot send traces to {endpoint}"))
}

/// The full address that spans are posted to.
fn endpoint(table: &TracesTable, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(exact) = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        return Some(exact);
    }
    let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| table.endpoint.clone())?;
    Some(format!("{}/v1/traces", base.trim_end_matches('/')))
}

impl Traces {
    fn to(endpoint: &str, secrets: &Secrets) -> Result<Self> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(CollectorClient::new(EXPORT_WITHIN)?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .with_timeout(EXPORT_WITHIN)
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            // Its queue, batches and delay can be set with `OTEL_BSP_…`.
            .with_span_processor(BatchSpanProcessor::builder(exporter).build())
            .build();
        let tracer = provider.tracer("switchyard");
        let observer = Arc::new(SpanObserver { tracer, secrets: secrets.clone() });
        Ok(Self { provider, observer })
    }

    /// Sends the spans that are left, if it can be done soon.
    pub(crate) async fn finish(self) {
        // A thread, because the SDK waits for the batch, which our runtime sends.
        let finishing =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FINISH_WITHIN));
        match tokio::time::timeout(FINISH_WITHIN * 2, finishing).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the last spans were not sent"),
            _ => tracing::warn!("the last spans were not sent in time"),
        }
    }
}

fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => builder.build(),
        None => builder.with_service_name("switchyard").build(),
    }
}

#[cfg(test)]
mod tests;
