//! The defects of private computation on graphs, each with the attack that profits from it.

use super::{Edit, Tested};

/// Of the engine (`ruffle2`), the job and its attempts.
pub(super) const GRAPHS: &[Tested] = &[
    Tested {
        name: "a table that nobody vouches for",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "an_error_in_any_message_of_a_use_is_caught",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/run.rs",
            from: "        if stated == table.digest() {",
            to: "        if stated == table.digest() || stated.0 != [0; 32] {",
        }],
    },
    Tested {
        name: "a digest before its table is compared",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "nobody_sends_what_depends_on_a_table_that_nobody_vouches_for",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/shuffle.rs",
            from: "let received = self.receive::<F>(kinds, (roles.x, roles.y), &uses).await?;",
            to: "let mut received = Vec::new(); \
                for Applied { of, sequence, .. } in &uses { \
                let rule = Rule::table::<F>(of.elements()); \
                received.push(self.run.receive(roles.x, kinds.0, *sequence, rule).await?.body); \
                }",
        }],
    },
    Tested {
        name: "a first table before its digest is compared",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "nobody_sends_what_depends_on_a_table_that_nobody_vouches_for",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/shuffle.rs",
            from: "let received = self.receive::<F>(kinds, (roles.z, roles.x), &uses).await?;",
            to: "let mut received = Vec::new(); \
                for Applied { of, sequence, .. } in &uses { \
                let rule = Rule::table::<F>(of.elements()); \
                received.push(self.run.receive(roles.z, kinds.0, *sequence, rule).await?.body); \
                }",
        }],
    },
    Tested {
        name: "evidence that proves nothing",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "an_error_in_any_message_of_a_use_is_caught",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/run.rs",
            from: "        Err(Stop::Evidence(Evidence::Conflict { table, digest, stated }))",
            to: "        let stated = Digest([0; 32]); \
                Err(Stop::Evidence(Evidence::Conflict { table, digest, stated }))",
        }],
    },
    Tested {
        name: "another job's evidence",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "accusations_that_prove_nothing_stop_nobody",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/fault.rs",
            from: "            signed.header.tag.instance == *instance && roster.vouches(signed)",
            to: "            signed.header.tag.instance.kind == instance.kind \
                && roster.vouches(signed)",
        }],
    },
    Tested {
        name: "a stage that is never checked",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_server_that_spoils_the_preparation_is_found_by_opening_it",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/preparation/mod.rs",
            from: "sums.iter().all(|byte| *byte == 0)",
            to: "sums.iter().any(|byte| *byte != 1)",
        }],
    },
    Tested {
        name: "seeds for an owner after the sealing",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "no_seed_leaves_a_server_once_the_uploads_are_sealed",
        edits: &[Edit {
            file: "crates/graph/src/stock/mod.rs",
            from: "        if sealed.is_some() || owner != Some(*to) {",
            to: "        if sealed.is_some() && owner.is_none() || owner != Some(*to) {",
        }],
    },
    Tested {
        name: "a use on a second table",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_use_is_not_spent_on_a_second_table_after_a_restart",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/shuffle.rs",
            from: "            bind(self.journal, name, &Header::digest_of(&applied.beta))?;",
            to: "            let _ = bind(self.journal, name, &Header::digest_of(&applied.beta));",
        }],
    },
    Tested {
        name: "two jobs of one number",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "two_jobs_do_not_share_a_permutation",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/preparation/mod.rs",
            from: "    bind(journal, format!(\"job {}\", job.number), &job.digest)?;",
            to: "    let _ = bind(journal, format!(\"job {}\", job.number), &job.digest);",
        }],
    },
    Tested {
        name: "seeds of a job's number alone",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "two_jobs_do_not_share_a_permutation",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/seeds.rs",
            from: "&job.number.to_le_bytes(), &job.digest.0];",
            to: "&job.number.to_le_bytes(), &[]];",
        }],
    },
    Tested {
        name: "rows that come back anywhere",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_bad_list_excludes_its_owner_only",
        edits: &[Edit {
            file: "crates/graph/src/order_check.rs",
            from: "i.is_multiple_of(WORDS) || i / WORDS < vertices;",
            to: "!i.is_multiple_of(WORDS) && i / WORDS < vertices;",
        }],
    },
    Tested {
        name: "an upload that one server holds",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "an_upload_counts_if_two_servers_hold_it_and_no_other_is_signed",
        edits: &[Edit {
            file: "crates/graph/src/intake.rs",
            from: "(listed.len() >= 2 && listed",
            to: "(!listed.is_empty() && listed",
        }],
    },
    Tested {
        name: "an owner believes one server",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_corrupt_server_cannot_give_an_owner_other_seeds",
        edits: &[Edit {
            file: "crates/graph/src/owner.rs",
            from: ".filter(|b| *b == *a).count() >= 2)?;",
            to: ".filter(|b| *b == *a).count() >= 1)?;",
        }],
    },
    Tested {
        name: "coefficients before the vote",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "coins_are_tossed_after_the_uploads_are_sealed",
        edits: &[Edit {
            file: "crates/graph/src/intake.rs",
            from: "    run.vote(0, \"the sealed uploads\", &sealed_digest).await?;",
            to: "    run.send_all(Kind::Vote, 0, sealed_digest.0.to_vec());",
        }],
    },
    Tested {
        name: "products that are believed",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "an_error_in_any_product_or_verification_message_is_caught",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/verify.rs",
            from: "if opened[0] * opened[1] == opened[2] {",
            to: "if opened[0] * opened[1] == opened[2] || opened.len() == 3 {",
        }],
    },
    Tested {
        name: "noise in every attempt",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "what_has_noise_is_opened_in_one_attempt_only",
        edits: &[Edit {
            file: "crates/graph/src/attempt/mod.rs",
            from: "                once(&task, journal)?;",
            to: "                let _ = once(&task, journal);",
        }],
    },
    Tested {
        name: "what was cancelled is opened",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "what_was_cancelled_is_not_opened",
        edits: &[Edit {
            file: "crates/graph/src/attempt/mod.rs",
            from: "    opens(at.journal)?;",
            to: "    let _ = opens(at.journal);",
        }],
    },
    Tested {
        name: "other lists in another attempt",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "nobody_sees_the_result_with_and_without_a_list",
        edits: &[Edit {
            file: "crates/graph/src/attempt/mod.rs",
            from: "    bind(journal, ACCEPTED.to_owned(), &digest(&accepted))?;",
            to: "    let _ = bind(journal, \"accepted\".to_owned(), &digest(&accepted));",
        }],
    },
    Tested {
        name: "seeds of lists are opened to find a culprit",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_failed_preparation_opens_nothing_once_lists_are_known",
        edits: &[Edit {
            file: "crates/graph/src/ruffle2/preparation/mod.rs",
            from: "        Failing::Stops(_) => Err(Stop::Check(\"the preparation\")),",
            to: "        Failing::Stops(seeds) => { \
                let opened = Pair::of_party(run.me()).map(|pair| *seeds.of(pair).expose()); \
                run.send_all(Kind::SeedOpening, 0, opened.concat()); \
                Err(Stop::Check(\"the preparation\")) \
                }",
        }],
    },
    Tested {
        name: "edges into what vertices were",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "edges_into_delayed_vertices_lead_nowhere",
        edits: &[Edit {
            file: "crates/graph/src/query.rs",
            from: "        next.extend_from_slice(&state[..state.len() - shown]);",
            to: "let mut delayed = state[..state.len() - shown].to_vec(); \
                P::F::add_into(&mut delayed, &gathered[shown..]); \
                next.extend_from_slice(&delayed);",
        }],
    },
    Tested {
        name: "seeds that open for any owner",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "what_was_sealed_for_one_owner_opens_for_no_other",
        edits: &[Edit {
            file: "crates/graph/src/asked/contribution.rs",
            from: ".field(&owner.0).number(member as u64);",
            to: ".number(owner.0.len() as u64 + member as u64);",
        }],
    },
    Tested {
        name: "one permutation for two lists",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "the_same_randomness_for_two_lists_shares_no_permutation",
        edits: &[Edit {
            file: "crates/graph/src/asked/contribution.rs",
            from: "[&computation.0.0, &list.0, what, &at.to_le_bytes()];",
            to: "[&computation.0.0, &list.0[..0], what, &at.to_le_bytes()];",
        }],
    },
    Tested {
        name: "of equal values the last vertex",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "of_equal_values_the_first_vertices_come_first_also_for_a_reader",
        edits: &[Edit {
            file: "crates/graph/src/output/top.rs",
            from: "Fp61::new(places - 1 - vertex);",
            to: "Fp61::new(vertex);",
        }],
    },
    Tested {
        name: "a reader's seeds that only one member states",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_server_that_lies_to_the_reader_is_noticed",
        edits: &[Edit {
            file: "crates/graph/src/output/mod.rs",
            from: "            if !closed.agrees() {",
            to: "            if !closed.agrees() && closed.masked.0.len() > 1 {",
        }],
    },
    Tested {
        name: "a list that one of two denies",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "a_server_that_denies_what_it_holds_keeps_nobody_out",
        edits: &[Edit {
            file: "crates/graph/src/attempt/dealing.rs",
            from: "pair.members().iter().any(|m| has(list, *m, *pair))",
            to: "pair.members().iter().all(|m| has(list, *m, *pair))",
        }],
    },
    Tested {
        name: "differences under masks that hide values",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "uses_that_begin_alone_hide_one_table_each",
        edits: &[Edit {
            file: "crates/graph/src/query.rs",
            from: "        if self.job.program().begins(0) == Begin::EachUse {",
            to: "        if self.job.program().begins(0) == Begin::EachUse && run.me() > 2 {",
        }],
    },
    Tested {
        name: "numbers that pass from list to list",
        package: "ostrakon-graph",
        suite: Some("graph"),
        test: "nothing_passes_from_one_list_to_another",
        edits: &[Edit {
            file: "crates/graph/src/graphsc/mod.rs",
            from: "            self.firsts.iter().for_each(",
            to: "            self.firsts.iter().take(1).for_each(",
        }],
    },
];
