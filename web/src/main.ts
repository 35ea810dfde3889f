import { mount } from 'svelte';

import './app.css';
import App from './components/frame/App.svelte';
import { installed } from './lib/page/installed.svelte';

const target = document.getElementById('app');
if (!target) throw new Error('the document has no place for the page');
mount(App, { target });
void installed.register();
