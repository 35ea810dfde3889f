// The WASM module, loaded once.

import { t } from '../../messages/common';
import init from '../../wasm/ostrakon_wasm';
import module from '../../wasm/ostrakon_wasm_bg.wasm?url';
import { Told } from '../servers/told';

let loading: Promise<unknown> | undefined;

/**
 * Loads the module; its functions may be called when this has resolved. What failed is tried anew
 * at the next call.
 */
export async function loadCryptography(): Promise<void> {
  loading ??= init({ module_or_path: module });
  try {
    await loading;
  } catch {
    loading = undefined;
    throw new Told(t.refusal.away);
  }
}

export {
  AskedCommittee,
  AskedGraph,
  Board,
  DecisionMemory,
  DecisionVisit,
  Deployment,
  DeviceKey,
  HostLog,
  Issues,
  JoinLink,
  Messenger,
  MixRoom,
  MixVisitor,
  NewDecisionKey,
  Outbox,
  addToReceipt,
  announcementsOf,
  askGraph,
  believed,
  chooseHome,
  claim,
  createDecision,
  decisionArchive,
  decisionId,
  draftBytes,
  isCrowded,
  jobOf,
  keyExpiry,
  messageLimit,
  moreNeeded,
  parseLink,
  peopleFor,
  quorums,
  roomCode,
  roomId,
  serversDigest,
  signMail,
  signStockRequest,
  stockOfKeys,
  submit,
  tableRows,
  tidyCode,
  verifyDecisionArchive,
} from '../../wasm/ostrakon_wasm';
