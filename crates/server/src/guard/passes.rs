//! Passes, which a page sends beside its cookie, and how it gets one: by a proof that it has the
//! login's secret, after the daemon has proved the same.
//!
//! In: nonces and proofs. Out: proofs and passes. The secret itself goes over the wire once, when
//! somebody logs in. Passes are known to this process alone: a program that listens in our place
//! while no daemon runs, and so gets one, has nothing that the next daemon takes.
//!
//! Always true: a challenge is answered once; what is held is bounded.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;

use crate::locking::Locking as _;
use crate::tokens::{Sha256Sum, TokensError, mac, new_secret, sha256};

/// Time between our proof and the page's, which is a round trip.
const CHALLENGE_LIFE: Duration = Duration::from_secs(60);
/// Challenges of pages at the same moment; the oldest page has to ask again.
const MAX_CHALLENGES: usize = 256;
/// Passes of open pages. A page whose pass is forgotten asks for another.
const MAX_PASSES: usize = 1024;
/// Limit of a page's nonce, which only goes into proofs.
const MAX_NONCE_BYTES: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Passes(Mutex<PassTable>);

#[derive(Debug, Default)]
struct PassTable {
    challenges: VecDeque<PageChallenge>,
    passes: VecDeque<PagePass>,
}

#[derive(Debug)]
struct PageChallenge {
    nonce: String,
    page_nonce: String,
    /// The name of the login's token.
    login: String,
    at: Instant,
}

#[derive(Debug)]
struct PagePass {
    digest: Sha256Sum,
    login: String,
}

/// Which side a proof is of, so that one cannot be given back as the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProofSide {
    Daemon,
    Page,
    /// No proof, but the login code of a page that moves to a new host name: both sides compute it,
    /// and those who overheard the proofs cannot.
    Code,
}

impl Passes {
    /// A nonce for the page, and the proof that we know its secret.
    pub(crate) fn challenge(
        &self,
        login: &str,
        key: &Sha256Sum,
        origin: &str,
        page_nonce: &str,
    ) -> Result<Option<(String, String)>, TokensError> {
        if page_nonce.is_empty() || page_nonce.len() > MAX_NONCE_BYTES {
            return Ok(None);
        }
        let nonce = new_secret()?;
        let proof = proof(key, ProofSide::Daemon, origin, page_nonce, &nonce);
        let mut held = self.0.locked();
        held.challenges.retain(|one| one.at.elapsed() < CHALLENGE_LIFE);
        if held.challenges.len() >= MAX_CHALLENGES {
            held.challenges.pop_front();
        }
        held.challenges.push_back(PageChallenge {
            nonce: nonce.clone(),
            page_nonce: page_nonce.to_owned(),
            login: login.to_owned(),
            at: Instant::now(),
        });
        Ok(Some((nonce, proof)))
    }

    /// The page's nonce of a challenge, if the page has proved that it knows the key; once.
    pub(crate) fn redeem(
        &self,
        login: &str,
        key: &Sha256Sum,
        origin: &str,
        nonce: &str,
        proved: &str,
    ) -> Option<String> {
        let mut held = self.0.locked();
        let found = held.challenges.iter().position(|one| one.nonce == nonce && one.login == login);
        let challenge = found.and_then(|place| held.challenges.remove(place))?;
        let expected = proof(key, ProofSide::Page, origin, &challenge.page_nonce, nonce);
        let is_right: bool = expected.as_bytes().ct_eq(proved.as_bytes()).into();
        let is_good = is_right && challenge.at.elapsed() < CHALLENGE_LIFE;
        is_good.then_some(challenge.page_nonce)
    }

    /// A pass for a page that has just logged in or proved itself.
    pub(crate) fn issue(&self, login: &str) -> Result<String, TokensError> {
        let pass = new_secret()?;
        let mut held = self.0.locked();
        if held.passes.len() >= MAX_PASSES {
            held.passes.pop_front();
        }
        held.passes.push_back(PagePass { digest: sha256(&pass), login: login.to_owned() });
        Ok(pass)
    }

    /// The name of the login that a pass is for.
    pub(crate) fn login_of(&self, pass: &str) -> Option<String> {
        let digest = sha256(pass);
        let held = self.0.locked();
        let is_it = |one: &&PagePass| bool::from(one.digest.ct_eq(&digest));
        held.passes.iter().find(is_it).map(|one| one.login.clone())
    }
}

/// The proof that one side knows the key, for this pair of nonces and at this address.
pub(crate) fn proof(
    key: &Sha256Sum,
    side: ProofSide,
    origin: &str,
    page: &str,
    daemon: &str,
) -> String {
    let side = match side {
        ProofSide::Daemon => "daemon",
        ProofSide::Page => "page",
        ProofSide::Code => "code",
    };
    // None of them holds a line break.
    mac(key, &[side, origin, page, daemon].join("\n"))
}

#[cfg(test)]
mod tests {
    //! Each side proves itself; nothing can be given back or used twice.

    use super::*;

    const ORIGIN: &str = "http://127.0.0.1:7433";

    /// Of the daemon's nonce and proof.
    type Wrong<'a> = &'a dyn Fn(&str, &str) -> String;

    #[test]
    fn a_pass_is_given_once_for_the_right_proof() {
        let (passes, key) = (Passes::default(), sha256("secret"));
        let (nonce, ours) = passes.challenge("browser a", &key, ORIGIN, "n").unwrap().unwrap();
        assert_eq!(ours, proof(&key, ProofSide::Daemon, ORIGIN, "n", &nonce));
        let right = proof(&key, ProofSide::Page, ORIGIN, "n", &nonce);
        let redeem = || passes.redeem("browser a", &key, ORIGIN, &nonce, &right);
        assert_eq!(redeem().as_deref(), Some("n"));
        assert_eq!(redeem(), None);
        let pass = passes.issue("browser a").unwrap();
        assert_eq!(passes.login_of(&pass).as_deref(), Some("browser a"));
        assert_eq!(passes.login_of("sy_other"), None);
    }

    #[test]
    fn wrong_proofs_are_refused_and_use_up_the_challenge() {
        let (passes, key) = (Passes::default(), sha256("secret"));
        let wrong: [Wrong<'_>; 5] = [
            &|_, ours| ours.to_owned(),
            &|nonce, _| proof(&key, ProofSide::Code, ORIGIN, "n", nonce),
            &|nonce, _| proof(&sha256("other"), ProofSide::Page, ORIGIN, "n", nonce),
            &|nonce, _| proof(&key, ProofSide::Page, "http://127.0.0.1:7434", "n", nonce),
            &|_, _| String::new(),
        ];
        for wrong in wrong {
            let (nonce, ours) = passes.challenge("browser a", &key, ORIGIN, "n").unwrap().unwrap();
            let proved = wrong(&nonce, &ours);
            assert_eq!(passes.redeem("browser a", &key, ORIGIN, &nonce, &proved), None);
            let right = proof(&key, ProofSide::Page, ORIGIN, "n", &nonce);
            assert_eq!(passes.redeem("browser a", &key, ORIGIN, &nonce, &right), None);
        }
        let (nonce, _) = passes.challenge("browser a", &key, ORIGIN, "n").unwrap().unwrap();
        let right = proof(&key, ProofSide::Page, ORIGIN, "n", &nonce);
        assert_eq!(passes.redeem("browser b", &key, ORIGIN, &nonce, &right), None);
        assert!(passes.challenge("browser a", &key, ORIGIN, "").unwrap().is_none());
        assert!(passes.challenge("browser a", &key, ORIGIN, &"n".repeat(999)).unwrap().is_none());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let (passes, key) = (Passes::default(), sha256("secret"));
        for _ in 0..2 * MAX_PASSES {
            passes.challenge("browser a", &key, ORIGIN, "n").unwrap();
            passes.issue("browser a").unwrap();
        }
        let held = passes.0.locked();
        assert_eq!((held.challenges.len(), held.passes.len()), (MAX_CHALLENGES, MAX_PASSES));
    }
}
