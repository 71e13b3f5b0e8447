//! A log, told frame by frame in one of its vocabularies.
//!
//! In: events in order, from the first for every format but `acp`. Out: those frames that
//! the reader has not seen yet, each under its id. No I/O and no clock, so that a stream
//! that was cut anywhere goes on as if it had not been.

use sessions::projection::{Envelope, Envelopes, Ui, UiEvent};
use wire::{Event, Json, Seq, SessionId};

use super::cursor::{FrameId, Place};
use super::page::Page;
use super::wanted::Format;
use crate::open_design::{RunWords, Said};

#[derive(Debug)]
pub(super) struct Teller {
    told: Place,
    epoch: u64,
    words: Words,
}

#[derive(Debug)]
enum Words {
    Acp,
    Ui(Box<Ui>, Vec<UiEvent>),
    Envelopes(Box<Envelopes>, Vec<Envelope>),
    Run(Box<RunWords>, Vec<Said>),
}

impl Teller {
    /// For a reader who has come to `told`.
    pub(super) fn new(session: SessionId, epoch: u64, format: Format, told: Place) -> Self {
        let words = match format {
            Format::Acp => Words::Acp,
            Format::Ui => Words::Ui(Box::default(), Vec::new()),
            Format::Envelopes => {
                Words::Envelopes(Box::new(Envelopes::new(session.to_string())), Vec::new())
            }
            Format::Run(turn) => Words::Run(Box::new(RunWords::new(turn)), Vec::new()),
        };
        Self { told, epoch, words }
    }

    /// The event after which it wants to hear the log.
    pub(super) fn listens_after(&self) -> Seq {
        match self.words {
            Words::Acp => self.told.complete(),
            // What is told depends on everything before it.
            Words::Ui(..) | Words::Envelopes(..) | Words::Run(..) => Seq(0),
        }
    }

    pub(super) fn tell(&mut self, event: &Event, page: &mut Page) {
        let Self { told, epoch, words } = self;
        let (told, epoch) = (*told, *epoch);
        match words {
            Words::Acp => {
                let place = Place { seq: event.seq, part: None };
                if !told.covers(place) {
                    page.tell(FrameId { place, epoch }, None, |text| event.write_json(text));
                }
            }
            Words::Ui(ui, said) => {
                ui.project(event, said);
                for (id, one) in numbered(event.seq, told, epoch, said) {
                    let data = one.data();
                    page.tell(id, Some(one.name()), |text| text.push_str(data.as_str()));
                }
                said.clear();
            }
            Words::Envelopes(envelopes, said) => {
                envelopes.project(event, said);
                for (id, one) in numbered(event.seq, told, epoch, said) {
                    let data = Json::of(one);
                    page.tell(id, None, |text| text.push_str(data.as_str()));
                }
                said.clear();
            }
            Words::Run(run, said) => {
                run.hear(event, said);
                let place = Place { seq: event.seq, part: None };
                for (id, one) in numbered(event.seq, told, epoch, said) {
                    page.tell(id, Some(one.name), |text| text.push_str(one.data.as_str()));
                }
                // The end is told to everybody: whoever comes back after it and hears
                // nothing would come back again and again.
                if let Some(end) = said.last().filter(|one| one.is_end() && told.covers(place)) {
                    let id = FrameId { place, epoch };
                    page.tell(id, Some(end.name), |text| text.push_str(end.data.as_str()));
                }
                said.clear();
            }
        }
    }
}

impl Teller {
    /// Tells the end of a run of which the log has none.
    pub(super) fn conclude(&mut self, page: &mut Page) {
        if let Words::Run(run, said) = &mut self.words {
            run.conclude(said);
            for one in said.drain(..) {
                page.remark(one.name, &one.data);
            }
        }
    }
}

/// What an event gives and the reader has not seen, with ids.
fn numbered<T>(
    seq: Seq,
    told: Place,
    epoch: u64,
    said: &[T],
) -> impl Iterator<Item = (FrameId, &T)> {
    let n_said = said.len();
    let numbered = (1_u32..).zip(said).map(move |(part, one)| {
        let is_last = usize::try_from(part).is_ok_and(|part| part == n_said);
        (Place { seq, part: (!is_last).then_some(part) }, one)
    });
    numbered
        .filter(move |(place, _)| !told.covers(*place))
        .map(move |(place, one)| (FrameId { place, epoch }, one))
}

#[cfg(test)]
mod tests;
