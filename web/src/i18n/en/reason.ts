// Why something was not done: clauses that others end with.

export const en = {
  detail: 'What was said exactly',
  unexpected: 'something was not as this page expects it',
  refused: (status: number) => `the server refused it (status ${status})`,

  /** By HTTP status, wherever nothing more exact is known. */
  status: {
    404: 'the server does not know it',
    413: 'it is too long',
    429: 'the server has too much to do; try again in a moment',
    500: 'the server has a problem of its own',
    503: 'the servers do not reach each other; try again in a moment',
  },

  asked: {
    room: { 404: 'these servers have no such room' },
    create: {
      401: 'the code is not right',
      403: 'this server opens no rooms for you',
      422: 'the servers do not take these settings',
      429: 'the server opens no more rooms for now; try again later',
    },
    act: {
      403: 'you are not a host of this room, or not any more',
      404: 'these servers have no such room',
      409: 'others acted at the same time, or the room is closed; try again',
      422: 'it goes beyond what a room can hold',
    },
    begin: {
      401: 'the code is not right',
      409: 'this decision cannot be begun any more; make it anew',
      421: 'decisions begin at the first server, which did not answer; try again in a moment',
      422: 'the servers do not take this decision',
      429: 'the server begins no more decisions for now; try again later',
    },
    decide: {
      404: 'these servers know no such decision',
      409: 'something else came first, or it is too late; look at what the page says now',
      422: 'the rules of decisions do not allow it',
    },
    join: {
      404: 'the servers know no such link',
      409: 'the decision has begun, or the request was refused before',
      422: 'the servers do not take this name, or the time for requests is over',
      429: 'as many requests as can wait are waiting; tell the creator',
    },
    further: {
      404: 'these servers know no such question',
      409: 'what was contributed is erased by now: as many questions were asked as was said, or the time is over',
      422: 'this cannot be asked about these contributions',
      503: 'not every server has the result yet; try again in a moment',
    },
    operate: { 404: 'this server does not know it', 422: 'the server does not take this setting' },
    claim: {
      403: 'the host has taken this invitation back, or never made it',
      404: 'these servers have no such room',
      409: 'it was used on another device, or the room is closed',
      422: 'this device takes part already',
    },
  },

  /** By the code with which the host log does not take an action. */
  declined: {
    'not-next': 'others acted at the same time; try again',
    'not-host': 'you are not a host of this room, or not any more',
    'not-first-host': 'only the first host names co-hosts',
    deed: 'it goes beyond a limit, or contradicts what was done before',
    closed: 'the room is closed, and takes nothing more of this kind',
    full: 'the room has as much of this as it can hold',
  },
};

export type Reason = typeof en;
