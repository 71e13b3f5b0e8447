//! One input of a fuzzer as two things: what a process prints, and what our side does meanwhile.
//!
//! The steps stand behind the bytes, so that a recording followed by a few bytes is an input,
//! and whatever a fuzzer does to the front of one leaves the steps as they are:
//!
//! ```text
//! bytes… │ step: place (2 bytes), action (1 byte) … │ setting │ how many steps
//! ```

const MAX_STEPS: usize = 16;
const STEP_BYTES: usize = 3;

#[derive(Debug)]
pub struct Script<'a> {
    pub bytes: &'a [u8],
    /// In the order of their places.
    pub steps: Vec<Step>,
    /// How it is all done; bits that each target reads in its own way.
    pub setting: u8,
}

/// Something to do once all before `place` was printed. The bytes are cut there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    pub place: usize,
    pub action: u8,
}

impl<'a> Script<'a> {
    /// Any bytes are a script; too few for one are all printed.
    pub fn read(data: &'a [u8]) -> Self {
        let whole = Self { bytes: data, steps: Vec::new(), setting: 0 };
        let [front @ .., setting, n_steps] = data else { return whole };
        let n_bytes = usize::from(*n_steps) % (MAX_STEPS + 1) * STEP_BYTES;
        let Some(at) = front.len().checked_sub(n_bytes) else { return whole };
        let (bytes, steps) = front.split_at(at);
        let step = |step: &[u8; STEP_BYTES]| {
            let place = usize::from(u16::from_le_bytes([step[0], step[1]]));
            Step { place: place % (bytes.len() + 1), action: step[2] }
        };
        let mut steps: Vec<Step> = steps.as_chunks().0.iter().map(step).collect();
        steps.sort_unstable();
        Self { bytes, steps, setting: *setting }
    }

    /// The bytes in pieces, each with the step that follows it; the last has none.
    pub fn pieces(&self) -> impl Iterator<Item = (&'a [u8], Option<Step>)> {
        let mut from = 0;
        let steps = self.steps.iter().copied().map(Some).chain([None]);
        steps.map(move |step| {
            let to = step.map_or(self.bytes.len(), |step| step.place);
            let piece = &self.bytes[from..to];
            from = to;
            (piece, step)
        })
    }
}
