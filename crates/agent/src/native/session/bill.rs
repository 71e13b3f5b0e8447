//! The cost of a session, over its whole life.
//!
//! In: what was used and what of that has a known cost. Out: `usage_update`, with the sum. Where
//! no cost is known none is reported. The sum is made from the journal when a session is taken up
//! again.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::{NativeSession, TurnError};
use crate::native::chat::TokenUsage;
use crate::native::journal::{JournalEntry, JournalItem};
use crate::native::lock;

#[derive(Debug, Default)]
pub(in crate::native) struct Bill(Mutex<BillState>);

#[derive(Debug, Clone, Copy, Default)]
struct BillState {
    nano_usd: Option<u64>,
    /// Tokens in the context when that was reported last.
    used: Option<u64>,
}

impl Bill {
    pub(in crate::native) fn of(entries: &[JournalEntry]) -> Self {
        let costs = entries.iter().filter_map(|entry| entry.item.nano_usd());
        let nano_usd = costs.reduce(u64::saturating_add);
        Self(Mutex::new(BillState { nano_usd, used: None }))
    }

    fn change(&self, change: impl FnOnce(&mut BillState)) -> BillState {
        let mut stand = lock(&self.0);
        change(&mut stand);
        *stand
    }

    fn add(&self, usage: TokenUsage) -> BillState {
        self.change(|stand| {
            let sum = stand.nano_usd.unwrap_or(0).saturating_add(usage.nano_usd.unwrap_or(0));
            stand.nano_usd = stand.nano_usd.or(usage.nano_usd).map(|_| sum);
        })
    }
}

#[cfg(test)]
impl Bill {
    pub(in crate::native) fn nano_usd(&self) -> Option<u64> {
        self.change(|_| {}).nano_usd
    }
}

impl BillState {
    /// The cost as ACP has it.
    fn cost(self) -> Option<Value> {
        #[allow(clippy::cast_precision_loss, reason = "2^53 billionths are nine million dollars")]
        let amount = self.nano_usd? as f64 / 1e9;
        Some(json!({ "amount": amount, "currency": "USD" }))
    }
}

impl NativeSession {
    /// Counts the cost of an answer that is in the journal.
    pub(in crate::native) fn spent(&self, usage: TokenUsage) {
        self.bill.add(usage);
    }

    /// Counts the cost of a request beside the conversation, and reports it right away: a limit in
    /// money must not wait for a sub-agent to come back.
    pub(in crate::native) async fn spend_aside(&self, usage: TokenUsage) -> Result<(), TurnError> {
        let Some(nano_usd) = usage.nano_usd else { return Ok(()) };
        self.journal.add(JournalItem::Spent { nano_usd }).await?;
        match self.bill.add(usage).used {
            Some(used) => self.tell_usage(used).await,
            None => Ok(()),
        }
    }

    /// Reports how full the context is, and what everything has cost so far.
    pub(in crate::native) async fn tell_usage(&self, used: u64) -> Result<(), TurnError> {
        let size = self.chosen().await?.context;
        let stand = self.bill.change(|stand| stand.used = Some(used));
        let mut update = json!({ "sessionUpdate": "usage_update", "used": used, "size": size });
        if let Some(cost) = stand.cost() {
            update["cost"] = cost;
        }
        self.send_update(update).await
    }
}
