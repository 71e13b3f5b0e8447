//! Whether the switch's books agree with each other and with the world.

use super::super::super::ids::CallKey;
use super::super::super::pool::{PoolMode, SlotState};
use super::super::super::session::SessionLocation;
use super::super::super::timers::Timer;
use super::super::super::worker::WorkerStage;
use super::world::World;
use super::*;

pub(super) fn check(world: &World) {
    let switch = &world.switch;
    check_clients(world);
    check_workers(world);
    for (id, pool) in &switch.pools {
        let n_bytes: usize = pool.waiting.iter().map(|(_, routed)| routed.line.len()).sum();
        assert_eq!(n_bytes, pool.n_waiting_bytes);
        assert!(n_bytes <= switch.limits.worker_queue.full.max(2500));
        assert!(pool.mode == PoolMode::Serving || pool.waiting.is_empty());
        // Whatever may take too long is looked at in time.
        if let Some(due) = switch.next_due(pool) {
            let at = pool.sweep_at.expect("nobody looks");
            assert!(at <= due.max(switch.now.after(1)), "{at:?} is too late for {due:?}");
        }
        let timers = switch.timers.iter().filter(|(_, timer)| *timer == Timer::Sweep(*id));
        assert!(timers.map(|(at, _)| Some(*at)).eq(pool.sweep_at.map(Some)));
        for slot in &pool.slots {
            if let SlotState::Taken(worker) = slot.state {
                assert!(switch.workers.contains_key(&worker));
            }
        }
    }
    for (key, session) in switch.sessions.iter() {
        let worker = session.worker().map(|worker| &switch.workers[&worker]);
        assert!(worker.is_none_or(|worker| worker.sessions[session.worker_name.as_bytes()] == key));
        assert_eq!(switch.sessions.find(session.name.as_bytes()), Some(key));
        assert!(session.owner.is_some() || session.grace_until.is_some());
    }
    assert!(switch.retries.is_empty() && switch.finishing.is_empty());
    assert!(switch.timers.len() < 200, "{:?}", switch.timers);
}

fn check_clients(world: &World) {
    let switch = &world.switch;
    for (id, client) in &switch.clients {
        let person = world.people.get(&id.0).expect("a client that is gone");
        assert_eq!(client.n_open, person.open.len(), "client {id:?}: {:?}", person.open);
        assert_eq!(client.is_paused(), person.is_paused);
        assert!(!client.is_done(), "client {id:?} has everything and is not closed");
        assert_eq!(client.finish, person.finished);
        for CallKey { worker, n } in client.calls.keys() {
            assert_eq!(switch.workers[worker].calls[n].client, Some(*id));
        }
        for (n, ask) in &client.asks {
            assert!(switch.workers[&ask.worker].asks.contains(&(*id, *n)));
        }
        for link in &client.links {
            assert!(switch.workers[&link.worker].clients.contains(id));
            assert!(link.is_opening || link.held.is_empty());
        }
        // A slow party is no reason to stop anybody who does not feed it.
        for worker in &client.paused_for {
            assert!(switch.workers[worker].level > QueueLevel::Low);
            assert!(switch.workers[worker].pausing.contains(id));
        }
        let waiting = switch.pools.values().flat_map(|pool| &pool.waiting);
        assert_eq!(client.n_waiting, waiting.filter(|(whose, _)| whose == id).count());
        assert!(client.n_held_bytes <= switch.limits.client_queue.full);
        let held: usize =
            client.links.iter().flat_map(|link| &link.held).map(|routed| routed.line.len()).sum();
        assert!(client.n_held_bytes >= held);
    }
}

fn check_workers(world: &World) {
    let switch = &world.switch;
    assert_eq!(switch.workers.len(), world.agents.len());
    for (id, worker) in &switch.workers {
        for (n, call) in &worker.calls {
            if let Some(client) = call.client {
                let key = CallKey { worker: *id, n: *n };
                assert!(switch.clients[&client].calls.contains_key(&key));
            }
        }
        for (client, n) in &worker.asks {
            assert!(switch.clients[client].asks.contains_key(n));
        }
        for client in &worker.clients {
            assert!(switch.clients[client].links.iter().any(|link| link.worker == *id));
        }
        let is_up = matches!(worker.stage, WorkerStage::Running);
        // A worker of one client goes with it.
        let is_spent = worker.has_served && worker.clients.is_empty();
        assert!(!(world.agents[&id.0].is_private && is_up && is_spent));
        for (name, key) in worker.sessions.iter().filter(|_| is_up) {
            if worker.closing.iter().any(|closing| closing.name == name.0) {
                assert!(switch.sessions.get(*key).is_none());
                continue;
            }
            let session = switch.sessions.get(*key).expect("a session that is gone");
            assert_eq!(session.worker_name, name.0);
            if session.worker() != Some(*id) {
                continue;
            }
            assert_eq!(switch.sessions.find(session.name.as_bytes()), Some(*key));
            let is_moving = matches!(session.location, SessionLocation::Moving { .. });
            assert!(is_moving || matches!(session.location, SessionLocation::At(_)));
            if let Some(owner) = session.owner {
                assert!(switch.clients[&owner].sessions.contains(key));
            }
        }
        assert!(worker.n_opening > 0 || worker.early.is_empty());
        // Nobody else waits for a worker that is not read.
        if let Some(client) = worker.paused_for {
            assert_eq!(worker.clients, [client]);
            assert!(switch.clients[&client].level > QueueLevel::Low);
        }
        assert_eq!(worker.paused_for.is_some(), world.agents[&id.0].is_paused);
    }
}

pub(super) fn check_empty(switch: &Switch) {
    assert!(switch.clients.is_empty() && switch.workers.is_empty() && switch.fans.is_empty());
    assert_eq!(switch.sessions.len(), 0);
    assert!(switch.pools.values().all(|pool| pool.waiting.is_empty()));
    let counters = switch.counters();
    let ended = counters.answered_by_workers + counters.answered_by_switch + counters.abandoned;
    assert_eq!(counters.requests, ended);
}
