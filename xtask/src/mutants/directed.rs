//! The defects that single tests of the simulation must find.

use super::{Directed, Edit};

/// The simulation of decisions.
const DECIDING: &str = "who_answers_is_counted_once_as_first_answered_among_servers_that_die";

/// What comes to light at one moment only, which a drawn run seldom meets.
pub(super) const DIRECTED: &[Directed] = &[
    Directed {
        name: "announce before it is written down",
        test: "what_a_server_has_not_written_down_nobody_has_heard",
        edits: &[Edit {
            file: "crates/node/src/ledger/agree.rs",
            from: "        self.store.announce(self.me(), number, &bytes, Some(&change)).await?;
        let effects = self.apply(number, &change, now);
        self.introduction.kept(self.me(), number);
        let signed =
            self.party.send_all(ControlStep::Announce.of(instance(self.me(), number)), bytes);",
            to: "        let signed =
            self.party.send_all(
                ControlStep::Announce.of(instance(self.me(), number)), bytes.clone());
        self.store.announce(self.me(), number, &bytes, Some(&change)).await?;
        let effects = self.apply(number, &change, now);
        self.introduction.kept(self.me(), number);",
        }],
    },
    Directed {
        name: "vouch before it is written down",
        test: "a_server_vouches_for_nothing_that_it_has_not_written_down",
        edits: &[Edit {
            file: "crates/node/src/ledger/agree.rs",
            from: "    keep(core, author, number, &received).await?;
    core.introduction.kept(author, number);
    core.party.send_all(ControlStep::Echo.of(at), wire::encode(&received.signed));",
            to: "    core.party.send_all(ControlStep::Echo.of(at), wire::encode(&received.signed));
    keep(core, author, number, &received).await?;
    core.introduction.kept(author, number);",
        }],
    },
    Directed {
        name: "what a host erases stays",
        test: "what_a_host_erases_is_at_no_server_any_more",
        edits: &[Edit {
            file: "crates/node/src/rooms/hosting.rs",
            from: "        Deed::Erase { target } => erasure::erase_epoch(&core, id, target.epoch).await,\n",
            to: "        Deed::Erase { .. } => {}\n",
        }],
    },
    Directed {
        name: "answers leave though they cannot be written down",
        test: DECIDING,
        edits: &[Edit {
            file: "crates/client/src/visitor/noting.rs",
            from: "            Found::Noted(..) if !written => {",
            to: "            Found::Noted(..) if !written && false => {",
        }],
    },
    Directed {
        name: "nobody but the first server is given answers",
        test: DECIDING,
        edits: &[Edit {
            file: "crates/client/src/visitor/posting.rs",
            from: "        let held = record.filter(|record| record.record.speaks_for().is_some());",
            to: "        let held = record.filter(|_| false);",
        }],
    },
    Directed {
        name: "a device that is started again answers anew",
        test: DECIDING,
        edits: &[Edit {
            file: "crates/decide/src/device/memory.rs",
            from: "        match &known.answered {
            Some(Answered { answers: Some(fixed), .. }) if fixed == answers => Ok(()),",
            to: "        match &known.answered.clone().filter(|before| before.answers.is_none()) {
            Some(Answered { answers: Some(fixed), .. }) if fixed == answers => Ok(()),",
        }],
    },
];
