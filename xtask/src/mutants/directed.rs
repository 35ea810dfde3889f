//! The defects that single tests of the simulation must find.

use super::{Directed, Edit};

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
];
