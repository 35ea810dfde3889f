//! Tunnels: a connection to a peer by way of a third party.
//!
//! A tunnel is a byte stream over which the two ends run the same TLS session as over TCP, so the
//! third party sees ciphertext, its length and its timing, and can do nothing but pass it on or
//! not. Each end may have [`WINDOW`] bytes in flight until the other end has taken them, every
//! frame counting [`FRAME_COST`] bytes more than it carries; the third party holds at most
//! [`crate::bounds::FORWARDED`] bytes per sender and peer and breaks the tunnel of whoever exceeds
//! that.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use ostrakon_party::PartyId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::bounds::{FRAME_COST, WINDOW};
use crate::frame::{Leg, Part, RELAYED, Relay};
use crate::peer::Peer;

/// Credit is given in portions of this size.
const PORTION: usize = WINDOW / 8;

#[derive(Default)]
struct State {
    arrived: VecDeque<Bytes>,
    /// What waits in `arrived` costs, frames that are read in part included in full.
    arrived_cost: usize,
    /// What the frame at the front cost when it was whole.
    front_cost: usize,
    /// What was taken and not yet credited.
    taken: usize,
    credit: usize,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl State {
    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

/// One end's state of a tunnel, reached both by the connection in it and by the link that carries
/// it.
struct Circuit {
    /// Number chosen by the dialling end.
    number: u32,
    state: Mutex<State>,
}

impl Circuit {
    fn new(number: u32) -> Arc<Self> {
        let state = State { credit: WINDOW, ..State::default() };
        Arc::new(Self { number, state: Mutex::new(state) })
    }

    fn close(&self) {
        let mut state = self.state.lock().expect("no panic while held");
        state.closed = true;
        state.wake();
    }

    /// Whether the frame was within what the other end may send.
    fn receive(&self, part: Part) -> bool {
        let mut state = self.state.lock().expect("no panic while held");
        match part {
            Part::Data(bytes) => {
                let cost = bytes.len() + FRAME_COST;
                if state.arrived_cost + cost > WINDOW {
                    return false;
                }
                state.arrived_cost += cost;
                state.arrived.push_back(bytes);
            }
            Part::Credit(more) => {
                state.credit = state.credit.saturating_add(more as usize);
                if state.credit > WINDOW {
                    return false;
                }
            }
            Part::Open | Part::End => state.closed = true,
        }
        state.wake();
        true
    }
}

/// A far end and the party that relays to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Route {
    pub peer: PartyId,
    pub via: PartyId,
}

/// The tunnels that end here.
#[derive(Default)]
pub(crate) struct Tunnels(Mutex<HashMap<Route, Arc<Circuit>>>);

impl Tunnels {
    /// One end of a new tunnel, in place of an earlier one over the same route. `via` is the
    /// relaying party.
    pub fn open(self: &Arc<Self>, peer: PartyId, via: &Arc<Peer>, number: u32) -> Tunnel {
        let route = Route { peer, via: via.id };
        let circuit = Circuit::new(number);
        let old = self.0.lock().expect("no panic while held").insert(route, Arc::clone(&circuit));
        if let Some(old) = old {
            old.close();
        }
        Tunnel { route, circuit, via: Arc::clone(via), tunnels: Arc::downgrade(self) }
    }

    /// A frame has come for a tunnel that ends here. Whether there is such a tunnel: unknown ones
    /// are those of closed ends, or of a process before this one.
    pub fn receive(&self, route: Route, number: u32, part: Part) -> bool {
        let circuit = self.0.lock().expect("no panic while held").get(&route).cloned();
        let Some(circuit) = circuit.filter(|circuit| circuit.number == number) else {
            return false;
        };
        if !circuit.receive(part) {
            circuit.close();
        }
        true
    }

    /// The link to a relaying party is gone, and with it all tunnels that way.
    pub fn lose(&self, via: PartyId) {
        self.0.lock().expect("no panic while held").retain(|route, circuit| {
            if route.via == via {
                circuit.close();
            }
            route.via != via
        });
    }

    fn forget(&self, route: Route, circuit: &Arc<Circuit>) {
        let mut circuits = self.0.lock().expect("no panic while held");
        if circuits.get(&route).is_some_and(|present| Arc::ptr_eq(present, circuit)) {
            circuits.remove(&route);
        }
    }
}

/// One end of a tunnel: a byte stream.
pub(crate) struct Tunnel {
    pub route: Route,
    circuit: Arc<Circuit>,
    via: Arc<Peer>,
    tunnels: Weak<Tunnels>,
}

impl Tunnel {
    /// Tells the far end that there is a tunnel. Whether the relaying party can be reached.
    pub fn announce(&self) -> bool {
        self.send(Part::Open)
    }

    fn send(&self, part: Part) -> bool {
        let relay =
            Relay { peer: self.route.peer, leg: Leg::Onward, circuit: self.circuit.number, part };
        self.via.outbox().push_relay(self.via.own_id, relay)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.circuit.close();
        self.send(Part::End);
        if let Some(tunnels) = self.tunnels.upgrade() {
            tunnels.forget(self.route, &self.circuit);
        }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.circuit.state.lock().expect("no panic while held");
        let Some(mut first) = state.arrived.pop_front() else {
            if state.closed {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        if state.front_cost == 0 {
            state.front_cost = first.len() + FRAME_COST;
        }
        let n = first.len().min(buf.remaining());
        buf.put_slice(&first[..n]);
        first.advance(n);
        if first.is_empty() {
            let cost = std::mem::take(&mut state.front_cost);
            state.arrived_cost -= cost;
            state.taken += cost;
        } else {
            state.arrived.push_front(first);
        }
        let portion = if state.taken >= PORTION { std::mem::take(&mut state.taken) } else { 0 };
        drop(state);
        if portion > 0
            && !self.send(Part::Credit(u32::try_from(portion).expect("less than the window")))
        {
            // The far end would wait for it for ever.
            self.circuit.close();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.circuit.state.lock().expect("no panic while held");
        if state.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let n = buf.len().min(state.credit.saturating_sub(FRAME_COST)).min(RELAYED);
        if n == 0 {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.credit -= n + FRAME_COST;
        drop(state);
        if !self.send(Part::Data(Bytes::copy_from_slice(&buf[..n]))) {
            self.circuit.close();
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.circuit.close();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::VerifyingKey;

    use super::*;
    use crate::bounds::FORWARDED;
    use crate::inbox::Quota;
    use crate::outbox::Active;

    /// The end of a tunnel waits until the peer reads it, so there must not be one for every tunnel
    /// that a peer opens.
    #[test]
    fn who_opens_tunnels_without_end_and_reads_nothing_makes_nothing_pile_up() {
        let peer = Peer::new(
            PartyId(0),
            PartyId(2),
            VerifyingKey([0; 32]),
            &Arc::default(),
            Quota::default(),
        );
        let via = Arc::new(peer);
        via.outbox().activate(Active {
            id: 1,
            via: None,
            wake: Arc::default(),
            cancel: Arc::default(),
        });
        let tunnels = Arc::<Tunnels>::default();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..2 * FORWARDED / FRAME_COST {
            let mut tunnel = tunnels.open(PartyId(1), &via, 1);
            // What is said in a tunnel stays behind it, too.
            let _ = Pin::new(&mut tunnel).poll_write(&mut cx, &[0; 100]);
        }
        let mut written = 0;
        loop {
            let mut batch = Vec::new();
            via.outbox().take(1, &mut batch);
            if batch.is_empty() {
                break;
            }
            written += batch.len();
        }
        assert!((FORWARDED / 4..=FORWARDED).contains(&written), "{written}");
    }

    #[test]
    fn an_end_takes_a_window_and_not_a_byte_more() {
        for size in [1, RELAYED] {
            let circuit = Circuit::new(1);
            let mut accepted = 0;
            while circuit.receive(Part::Data(vec![0; size].into())) {
                accepted += size + FRAME_COST;
            }
            assert!(
                accepted <= WINDOW && accepted + size + FRAME_COST > WINDOW,
                "{accepted} in frames of {size}"
            );
        }
    }

    #[test]
    fn credit_beyond_the_window_is_a_breach() {
        let circuit = Circuit::new(1);
        circuit.state.lock().unwrap().credit -= 100;
        assert!(circuit.receive(Part::Credit(100)));
        assert!(!circuit.receive(Part::Credit(1)));
        assert!(!Circuit::new(1).receive(Part::Credit(u32::MAX)));
    }
}
