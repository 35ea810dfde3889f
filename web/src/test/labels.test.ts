// What the user is told of contacts and messages, in words.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import AddContact from '../areas/messages/AddContact.svelte';
import type { Contact, Message } from '../areas/messages/client';
import Conversation from '../areas/messages/Conversation.svelte';
import Welcome from '../areas/messages/Welcome.svelte';

const LINK = `http://a.example/#/chat/${'1'.repeat(32)}/${'2'.repeat(64)}/${'A'.repeat(64)}`;

test('a partner for practice is called one before it is added', () => {
  const added = (link: string) =>
    render(AddContact, {
      props: { chat: {}, link, dealt: () => undefined, added: () => undefined } as never,
    }).body;
  const welcomed = (link: string) =>
    render(Welcome, {
      props: { deployment: { name: 'Letters' }, link, begin: () => undefined } as never,
    }).body;
  for (const shown of [added, welcomed]) {
    expect(shown(`${LINK}/practice`)).toContain('gives you your own words back');
    expect(shown(`${LINK}/practice`)).not.toContain('contact link of somebody');
    expect(shown(LINK)).not.toContain('practice');
    expect(shown(LINK)).toContain('contact link of somebody');
  }
  expect(added(`${LINK}/practice`)).toContain('value="Practice partner"');
});

test('every state of a message is told, also that its round was stopped', () => {
  const contact: Contact = {
    number: 0,
    name: 'Ben',
    state: 'talking',
    code: null,
    callable: true,
    added: true,
    link: null,
    unread: 0,
    last: null,
    waited: null,
  };
  const told = (state: Message['state']) => {
    const message: Message = { number: 0, own: true, text: 'hello', state, round: 4 };
    const chat = { messages: () => [message], view: { limit: 6400, links: [] } };
    const { body } = render(Conversation, {
      props: { chat, contact, closed: false, back: () => undefined } as never,
    });
    return /<li[^>]*data-message="([a-z-]+)".*?<span class="state[^>]*>([^<]*)</s
      .exec(body)
      ?.slice(1);
  };
  expect(told('round-stopped')).toEqual([
    'round-stopped',
    'its round was stopped; it is sent again',
  ]);
  expect(told('sent-again')).toEqual(['sent-again', 'sent again']);
  expect(told('delivered')).toEqual(['delivered', 'delivered']);
});
