import type { Reason } from '../en/reason';

export const de: Reason = {
  detail: 'Was genau gesagt wurde',
  unexpected: 'etwas war nicht so, wie diese Seite es erwartet',
  refused: (status: number) => `der Server hat es abgelehnt (Status ${status})`,

  status: {
    404: 'der Server kennt es nicht',
    413: 'es ist zu lang',
    429: 'der Server hat zu viel zu tun; versuch es gleich noch einmal',
    500: 'der Server hat selbst ein Problem',
    503: 'die Server erreichen einander nicht; versuch es gleich noch einmal',
  },

  asked: {
    room: { 404: 'diese Server haben keinen solchen Raum' },
    create: {
      401: 'der Code stimmt nicht',
      403: 'dieser Server eröffnet keine Räume für dich',
      422: 'die Server nehmen diese Einstellungen nicht an',
      429: 'der Server eröffnet vorerst keine weiteren Räume; versuch es später noch einmal',
    },
    act: {
      403: 'du leitest diesen Raum nicht, oder nicht mehr',
      404: 'diese Server haben keinen solchen Raum',
      409: 'andere haben zur selben Zeit gehandelt, oder der Raum ist geschlossen; versuch es noch einmal',
      422: 'es übersteigt, was ein Raum fasst',
    },
    begin: {
      401: 'der Code stimmt nicht',
      409: 'diese Entscheidung lässt sich nicht mehr anlegen; leg sie neu an',
      421: 'Entscheidungen beginnen beim ersten Server, und der hat nicht geantwortet; versuch es gleich noch einmal',
      422: 'die Server nehmen diese Entscheidung nicht an',
      429: 'der Server beginnt vorerst keine Entscheidungen mehr; versuch es später noch einmal',
    },
    decide: {
      404: 'diese Server kennen keine solche Entscheidung',
      409: 'etwas anderes kam zuvor, oder es ist zu spät; sieh nach, was die Seite jetzt sagt',
      422: 'die Regeln für Entscheidungen erlauben es nicht',
    },
    join: {
      404: 'die Server kennen keinen solchen Link',
      409: 'die Entscheidung hat begonnen, oder die Anfrage wurde schon abgelehnt',
      422: 'die Server nehmen diesen Namen nicht an, oder die Zeit für Anfragen ist vorbei',
      429: 'mehr Anfragen können nicht warten; sag es der Person, die den Link gemacht hat',
    },
    further: {
      404: 'diese Server kennen keine solche Frage',
      409: 'was beigetragen wurde, ist inzwischen gelöscht: so viele Fragen wie gesagt sind gestellt, oder die Zeit ist um',
      422: 'zu diesen Beiträgen lässt sich das nicht fragen',
      503: 'noch nicht jeder Server hat das Ergebnis; versuch es gleich noch einmal',
    },
    operate: {
      404: 'dieser Server kennt es nicht',
      422: 'der Server nimmt diese Einstellung nicht an',
    },
    claim: {
      403: 'die Leitung hat diese Einladung zurückgenommen oder nie gemacht',
      404: 'diese Server haben keinen solchen Raum',
      409: 'sie wurde auf einem anderen Gerät benutzt, oder der Raum ist geschlossen',
      422: 'dieses Gerät nimmt schon teil',
    },
  },

  declined: {
    'not-next': 'andere haben zur selben Zeit gehandelt; versuch es noch einmal',
    'not-host': 'du leitest diesen Raum nicht, oder nicht mehr',
    'not-first-host': 'nur die erste Leitung ernennt weitere',
    deed: 'es übersteigt eine Grenze oder widerspricht dem, was vorher geschah',
    closed: 'der Raum ist geschlossen und nimmt nichts dieser Art mehr an',
    full: 'der Raum hat davon so viel, wie er fassen kann',
  },
};
